#include "probe/process/process_parts.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "probe/procfs/software_parts.hpp"

namespace angio::probe::process {
namespace {

struct Mapping {
  std::string policy;
  std::uint64_t count = 1;
  std::uint64_t page_size = 4096;  // kernels before 3.10 do not say: Documentation/filesystems/proc.rst
  std::vector<std::pair<std::uint32_t, std::uint64_t>> pages;
};

std::optional<Mapping> parse_mapping(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.size() < 2) return std::nullopt;
  Mapping mapping;
  mapping.policy = words[1].substr(0, 64);
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = words[i].substr(0, equals);
    const auto number = parse_integer<std::uint64_t>(words[i].substr(equals + 1));
    if (!number) continue;
    if (key == "kernelpagesize_kB" && *number <= (1U << 24U)) mapping.page_size = *number << 10U;
    if (key == "mappings") mapping.count = *number;
    if (!key.starts_with('N')) continue;
    if (const auto node = parse_integer<std::uint32_t>(key.substr(1)))
      mapping.pages.emplace_back(*node, *number);
  }
  return mapping;
}

}  // namespace

std::optional<std::string_view> status_field(std::string_view status, std::string_view key) {
  for (std::size_t begin = status.find(key); begin != status.npos; begin = status.find(key, begin + 1)) {
    const std::size_t colon = begin + key.size();
    if ((begin > 0 && status[begin - 1] != '\n') || colon >= status.size() || status[colon] != ':') continue;
    return trim(status.substr(colon + 1, status.find('\n', colon) - colon - 1));
  }
  return std::nullopt;
}

std::optional<std::uint32_t> last_cpu(std::string_view stat) {
  constexpr std::size_t kProcessor = 39;  // proc(5), /proc/pid/stat
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return std::nullopt;
  const std::vector<std::string_view> fields = split_words(stat.substr(name_end + 1));  // begins with field 3
  if (fields.size() <= kProcessor - 3) return std::nullopt;
  return parse_integer<std::uint32_t>(fields[kProcessor - 3]);
}

MemoryUse parse_numa_maps(std::string_view text) {
  MemoryUse use;
  for (const std::string_view line : split_lines(text)) {
    const std::optional<Mapping> mapping = parse_mapping(line);
    if (!mapping) continue;
    use.policies[mapping->policy] += mapping->count;
    for (const auto& [node, pages] : mapping->pages) {
      if (pages <= ~std::uint64_t{0} / mapping->page_size)
        use.bytes_per_node[node] += pages * mapping->page_size;
    }
  }
  return use;
}

std::vector<std::string> mapped_libraries(std::string_view maps) {
  std::set<std::string> files;
  for (const std::string_view line : split_lines(maps)) {
    const std::size_t slash = line.find('/');
    if (slash == line.npos) continue;
    std::string_view path = line.substr(slash);
    if (path.ends_with(" (deleted)")) path.remove_suffix(10);  // replaced on disk since it was mapped
    if (software::has_library_stem(path.substr(path.rfind('/') + 1))) files.emplace(path);
  }
  return {files.begin(), files.end()};
}

std::optional<model::Limit> parse_memlock(std::string_view limits) {
  constexpr std::string_view kKey = "Max locked memory";
  const std::size_t begin = limits.find(kKey);
  if (begin == limits.npos) return std::nullopt;
  const std::size_t end = std::min(limits.find('\n', begin), limits.size());
  return software::parse_limit(limits.substr(begin + kKey.size(), end - begin - kKey.size()));
}

std::string command_of(std::string_view arguments) {
  constexpr std::size_t kWords = 3;
  constexpr std::size_t kLongest = 256;
  std::string command;
  std::size_t taken = 0;
  for (const std::string_view word : split(arguments, '\0')) {
    if (word.empty() || word == "..." || (taken > 0 && word.starts_with('-') && word != "-m")) continue;
    if (++taken > kWords) break;
    if (!command.empty()) command += ' ';
    command += word.substr(0, kLongest);
    if (word.ends_with(".py") || word.ends_with(".sh")) break;
  }
  return command;
}

std::optional<std::string> group_of(std::string_view cgroup, std::string_view controller) {
  for (const std::string_view line : split_lines(cgroup)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    const std::vector<std::string_view> controllers = split(names, ',');
    if (std::ranges::find(controllers, controller) == controllers.end()) continue;
    return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

std::optional<std::optional<double>> parse_cpu_max(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() != 2) return std::nullopt;
  if (words[0] == "max") return std::optional<double>();
  const auto quota = parse_integer<std::int64_t>(words[0]);
  const auto period = parse_integer<std::int64_t>(words[1]);
  if (!quota || !period || *period <= 0) return std::nullopt;
  if (*quota < 0) return std::optional<double>();
  return std::optional(static_cast<double>(*quota) / static_cast<double>(*period));
}

}  // namespace angio::probe::process
