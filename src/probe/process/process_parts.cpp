#include "probe/process/process_parts.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.hpp"
#include "host/discreet.hpp"
#include "probe/procfs/software_parts.hpp"

namespace angio::probe::process {
namespace {

using Kind = std::uint64_t model::MemoryKinds::*;

// One line of host::reduced_numa_maps.
struct Mapping {
  std::string policy;
  Kind kind = &model::MemoryKinds::other;
  std::uint64_t count = 1;
  std::uint64_t page_size = 4096;  // kernels before 3.10 do not say: Documentation/filesystems/proc.rst
  std::vector<std::pair<std::uint32_t, std::uint64_t>> pages;
};

Kind kind_of(std::string_view word) {
  if (word.starts_with("anon=")) return &model::MemoryKinds::anonymous;
  if (word == "file=(file)") return &model::MemoryKinds::file;
  if (word == "file=(shared)") return &model::MemoryKinds::shared;
  if (word == "file=(zero)") return &model::MemoryKinds::shared_anonymous;
  if (word == "file=(device)") return &model::MemoryKinds::device;
  return word == "huge" ? &model::MemoryKinds::huge : &model::MemoryKinds::other;
}

std::optional<Mapping> parse_mapping(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.size() < 2) return std::nullopt;
  Mapping mapping;
  mapping.policy = words[1].substr(0, 64);
  if (words.size() > 2) mapping.kind = kind_of(words[2]);
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

std::optional<std::string_view> stat_name(std::string_view stat) {
  const std::size_t begin = stat.find('(');
  const std::size_t end = stat.rfind(')');
  if (begin == stat.npos || end == stat.npos || end < begin) return std::nullopt;
  return stat.substr(begin + 1, end - begin - 1);
}

std::optional<Bytes> status_bytes(std::string_view status, std::string_view key) {
  std::optional<std::string_view> value = status_field(status, key);
  if (!value || !value->ends_with("kB")) return std::nullopt;
  const auto kib = parse_integer<std::uint64_t>(trim(value->substr(0, value->size() - 2)));
  if (!kib || *kib > (~std::uint64_t{0} >> 10U)) return std::nullopt;
  return kibibytes(*kib);
}

bool is_training_library(std::string_view file_name) {
  constexpr std::array<std::string_view, 10> kStems{
      "libcuda.so",      "libcudart",     "libnccl.so",  "librccl.so",     "libtorch.so",
      "libtorch_cpu.so", "libtorch_cuda", "libamdhip64", "libhsa-runtime", "libjax"};
  return std::ranges::any_of(kStems, [&](std::string_view stem) { return file_name.starts_with(stem); });
}

std::map<std::uint64_t, std::uint16_t> parse_listening(std::string_view net_tcp) {
  constexpr std::size_t kAddress = 1;
  constexpr std::size_t kState = 3;
  constexpr std::size_t kInode = 9;
  constexpr std::string_view kListen = "0A";  // TCP_LISTEN, include/net/tcp_states.h
  std::map<std::uint64_t, std::uint16_t> ports;
  for (const std::string_view line : split_lines(net_tcp)) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() <= kInode || words[kState] != kListen) continue;
    const std::size_t colon = words[kAddress].rfind(':');
    if (colon == line.npos) continue;
    const auto port = parse_integer<std::uint16_t>(words[kAddress].substr(colon + 1), 16);
    const auto inode = parse_integer<std::uint64_t>(words[kInode]);
    if (port && inode && *inode != 0) ports.emplace(*inode, *port);
  }
  return ports;
}

MemoryUse parse_numa_maps(std::string_view text) {
  MemoryUse use;
  const std::string reduced = host::reduced_numa_maps(text);
  for (const std::string_view line : split_lines(reduced)) {
    const std::optional<Mapping> mapping = parse_mapping(line);
    if (!mapping) continue;
    use.policies[mapping->policy] += mapping->count;
    for (const auto& [node, pages] : mapping->pages) {
      if (pages > ~std::uint64_t{0} / mapping->page_size) continue;
      use.bytes_per_node[node] += pages * mapping->page_size;
      use.kinds[node].*mapping->kind += pages * mapping->page_size;
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
