// Versions that comments recommend together and that cannot work together: "CUDA 12.1, driver 515".
#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "lint/rules/system_rules.hpp"

namespace angio::lint {
namespace {

bool is_version(char c) {
  return (c >= '0' && c <= '9') || c == '.';
}

// The version behind a name: "CUDA 12.1", "driver >= 525.60", "NCCL=2.14.3". Empty: none within a few
// characters.
std::string version_behind(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    auto rest = text.substr(at + name.size());
    constexpr std::size_t kNear = 4;  // " >= " and the like
    std::size_t i = 0;
    while (i < rest.size() && i < kNear && !is_version(rest[i]) &&
           std::string_view(" =:>v-").find(rest[i]) != std::string_view::npos)
      ++i;
    auto end = i;
    while (end < rest.size() && is_version(rest[end]))
      ++end;
    auto version = rest.substr(i, end - i);
    while (version.ends_with('.'))
      version.remove_suffix(1);
    if (!version.empty() && version.front() != '.') return std::string(version);
  }
  return {};
}

class Stated {
 public:
  Stated(const Job& job, Complaints& out) : job_(job), out_(out), lines_(job.script->text) {}

  void check() {
    for (std::size_t i = 0; i < lines_.count(); ++i) {
      const auto line = lines_.line(i);
      constexpr std::size_t kLongest = 400;  // a remark, not data
      const auto comment = line.size() > kLongest ? std::string_view() : comment_of(line);
      if (comment.empty()) continue;
      const auto lower = to_lower(comment);
      if (contains(lower, "cuda") || contains(lower, "nccl"))
        judge(lower, lines_.start(i) + line.size() - comment.size(), comment.size());
    }
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  void judge(std::string_view comment, std::size_t offset, std::size_t length) {
    const auto cuda = version_behind(comment, "cuda");
    const auto driver = version_behind(comment, "driver");
    const auto nccl = version_behind(comment, "nccl");
    const auto place = lines_.place(offset, length);
    const auto major = parse_integer<std::uint32_t>(cuda.substr(0, cuda.find('.')));
    const auto branch = parse_integer<std::uint32_t>(driver.substr(0, driver.find('.')));
    const auto* family = major ? knowledge::find_cuda(*major) : nullptr;
    constexpr std::uint32_t kFirstBranch = 300;  // smaller numbers are no drivers of data centre GPUs
    if (family != nullptr && branch && *branch >= kFirstBranch && *branch < family->minimum_driver)
      add("system.version.driver-too-old", place,
          "CUDA " + cuda + " needs driver " + std::to_string(family->minimum_driver) + " or newer, not " +
              driver + " (without a forward-compatibility package)",
          "angio compat judges a whole set of versions");
    if (!nccl.empty() && major) built_for(nccl, cuda, *major, place);
    if (!nccl.empty() && (contains(comment, "hopper") || contains(comment, "h100"))) hopper(nccl, place);
  }

  void built_for(const std::string& nccl, const std::string& cuda, std::uint32_t major, const Place& place) {
    const auto* fact = knowledge::find_nccl_fact("cuda" + std::to_string(major));
    const auto order = fact != nullptr ? knowledge::compare_versions(nccl, fact->since) : std::nullopt;
    if (!order || *order >= 0) return;
    add("system.version.nccl-too-old", place,
        "no NCCL before " + std::string(fact->since) + " is built for CUDA " + std::to_string(major) +
            "; this names NCCL " + nccl + " with CUDA " + cuda,
        "angio compat judges a whole set of versions");
  }

  void hopper(const std::string& nccl, const Place& place) {
    const auto* fact = knowledge::find_nccl_fact("hopper");
    const auto order = fact != nullptr ? knowledge::compare_versions(nccl, fact->since) : std::nullopt;
    if (!order || *order >= 0) return;
    add("system.version.nccl-too-old", place,
        "NCCL " + nccl + " does not know Hopper GPUs: " + std::string(fact->since) +
            " is the first that does",
        "angio compat judges a whole set of versions");
  }

  const Job& job_;
  Complaints& out_;
  TextLines lines_;
};

}  // namespace

void check_stated_versions(const Job& job, Complaints& out) {
  Stated(job, out).check();
}

}  // namespace angio::lint
