// Slurm's compressed host lists and the hostfiles of MPI, without asking scontrol.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "launch/remote.hpp"

namespace angio::launch {
namespace {

std::unexpected<Error> bad_list(std::string_view text, std::string_view why) {
  constexpr std::size_t kShown = 200;
  return fail(ErrorCode::kInvalidInput,
              fmt::format("host list \"{}\": {}", printable(text.substr(0, kShown)), why),
              "As in n[0-3,7],x1");
}

// "0-3", "007": numbers keep the width of the first.
std::optional<std::vector<std::string>> expand_range(std::string_view range) {
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
  const auto first = parse_integer<std::uint64_t>(low);
  const auto last = parse_integer<std::uint64_t>(high);
  constexpr std::size_t kMostDigits = 18;
  if (!first || !last || *last < *first || *last - *first >= kMaxHosts || low.size() > kMostDigits)
    return std::nullopt;
  std::vector<std::string> numbers;
  for (std::uint64_t number = *first; number <= *last; ++number)
    numbers.push_back(fmt::format("{:0{}}", number, low.size()));
  return numbers;
}

std::optional<std::vector<std::string>> expand_bracket(std::string_view ranges) {
  std::vector<std::string> all;
  for (const std::string_view range : split(ranges, ',')) {
    auto numbers = expand_range(range);
    if (!numbers || all.size() + numbers->size() > kMaxHosts) return std::nullopt;
    all.insert(all.end(), numbers->begin(), numbers->end());
  }
  return all;
}

// Each text of front followed by each of back; none: too many.
bool append_each(std::vector<std::string>& front, const std::vector<std::string>& back) {
  if (front.size() * back.size() > kMaxHosts) return false;
  std::vector<std::string> result;
  for (const std::string& start : front) {
    for (const std::string& end : back)
      result.push_back(start + end);
  }
  front = std::move(result);
  return true;
}

// One item, "rack[1-2]n[0-3]".
std::optional<std::vector<std::string>> expand_item(std::string_view item) {
  constexpr std::size_t kLongest = 1024;
  if (item.empty() || item.size() > kLongest) return std::nullopt;
  std::vector<std::string> names{""};
  while (!item.empty()) {
    const std::size_t open = item.find('[');
    const std::string_view plain = item.substr(0, open);
    if (plain.find(']') != std::string_view::npos) return std::nullopt;
    for (std::string& name : names)
      name += plain;
    if (open == std::string_view::npos) break;
    const std::size_t close = item.find(']', open);
    if (close == std::string_view::npos) return std::nullopt;
    const auto numbers = expand_bracket(item.substr(open + 1, close - open - 1));
    if (!numbers || !append_each(names, *numbers)) return std::nullopt;
    item.remove_prefix(close + 1);
  }
  return names;
}

// The end of the first item: a comma outside brackets.
std::size_t end_of_item(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.size();
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text) {
  const std::string_view whole = trim(text);
  std::string_view rest = whole;
  if (rest.empty()) return bad_list(text, "it is empty");
  std::vector<std::string> hosts;
  std::size_t bytes = 0;
  constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
  for (;;) {
    const std::size_t end = end_of_item(rest);
    const auto names = expand_item(rest.substr(0, end));
    if (!names)
      return bad_list(whole, fmt::format("\"{}\" is no host or range of hosts",
                                         printable(rest.substr(0, std::min<std::size_t>(end, 80)))));
    for (const std::string& name : *names)
      bytes += name.size();
    hosts.insert(hosts.end(), names->begin(), names->end());
    if (hosts.size() > kMaxHosts || bytes > kMostBytes)
      return bad_list(whole, fmt::format("more than {} hosts", kMaxHosts));
    if (end == rest.size()) return hosts;
    rest.remove_prefix(end + 1);
  }
}

Result<std::vector<std::string>> parse_hostfile(std::string_view text) {
  std::vector<std::string> hosts;
  for (const std::string_view line : split_lines(text)) {
    const std::vector<std::string_view> words = split_words(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    const std::string host(words[0].substr(0, words[0].find(':')));  // "node1:8", as Hydra has it
    // Some systems name a host once for each slot.
    if (!host.empty() && (hosts.empty() || hosts.back() != host)) hosts.push_back(host);
    if (hosts.size() > kMaxHosts)
      return fail(ErrorCode::kInvalidInput, fmt::format("more than {} hosts", kMaxHosts));
  }
  if (hosts.empty()) return fail(ErrorCode::kInvalidInput, "it names no host", "One a line: node1 slots=8");
  return hosts;
}

}  // namespace angio::launch
