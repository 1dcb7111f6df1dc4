// /proc/<pid>/numa_maps without addresses and names: sums by policy, kind and page size.
// Format: Documentation/filesystems/proc.rst and numa(7).
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>

#include "base/text.hpp"
#include "host/discreet.hpp"

namespace angio::host {
namespace {

using Pages = std::map<std::uint32_t, std::uint64_t>;  // by node

enum class Kind : std::uint8_t { kUntold, kAnonymous, kFile, kShared, kZero, kDevice, kHuge };

// Words of one line; views into it.
struct Words {
  std::string_view policy;
  std::string_view page_size;
  std::string_view file;
  bool huge = false;
  bool anonymous = false;
  std::uint64_t written = 0;  // anon=
  std::uint64_t mappings = 1;
  Pages pages;
};

struct Sum {
  std::uint64_t mappings = 0;
  Pages pages;
};
using Key = std::tuple<std::string_view, Kind, std::string_view>;  // policy, kind, page size
using Sums = std::map<Key, Sum>;

void take(Words& words, std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == word.npos) {
    words.huge = words.huge || word == "huge";
    words.anonymous = words.anonymous || word == "heap" || word == "stack";
    return;
  }
  const std::string_view name = word.substr(0, equals);
  if (name == "file") words.file = word.substr(equals + 1);
  if (name == "kernelpagesize_kB") words.page_size = word;
  const auto number = parse_integer<std::uint64_t>(word.substr(equals + 1));
  if (!number) return;
  if (name == "mappings") words.mappings = *number;
  if (name == "anon") words.anonymous = true, words.written = *number;
  if (!name.starts_with('N')) return;
  if (const auto node = parse_integer<std::uint32_t>(name.substr(1))) words.pages[*node] += *number;
}

Kind kind_of(const Words& words) {
  // Names under which the kernel keeps memory that is shared and no file: mm/shmem.c, ipc/shm.c, mm/memfd.c.
  constexpr std::array<std::string_view, 4> kShared{"/dev/shm/", "/SYSV", "/memfd:", "(shared)"};
  if (words.huge) return Kind::kHuge;
  if (words.file.empty()) return words.anonymous ? Kind::kAnonymous : Kind::kUntold;
  // The name of shared anonymous memory: mm/shmem.c, shmem_zero_setup.
  if (words.file.starts_with("/dev/zero") || words.file == "(zero)") return Kind::kZero;
  for (const std::string_view begin : kShared) {
    if (words.file.starts_with(begin)) return Kind::kShared;
  }
  return words.file.starts_with("/dev/") || words.file == "(device)" ? Kind::kDevice : Kind::kFile;
}

void add(Sums& sums, const Words& words) {
  const Kind kind = kind_of(words);
  Sum& sum = sums[{words.policy, kind, words.page_size}];
  sum.mappings += words.mappings;
  if (kind != Kind::kFile || words.written == 0) {
    for (const auto& [node, pages] : words.pages)
      sum.pages[node] += pages;
    return;
  }
  Sum& written = sums[{words.policy, Kind::kAnonymous, words.page_size}];
  double all = 0;
  for (const auto& [node, pages] : words.pages)
    all += static_cast<double>(pages);
  for (const auto& [node, pages] : words.pages) {
    const double share = static_cast<double>(words.written) / all;
    const auto part =
        share < 1 ? static_cast<std::uint64_t>(std::llround(static_cast<double>(pages) * share)) : pages;
    if (part > 0) written.pages[node] += part;
    if (part < pages) sum.pages[node] += pages - part;
  }
}

std::string kind_words(Kind kind, const Pages& pages) {
  std::uint64_t all = 0;
  for (const auto& [node, count] : pages)
    all += count;
  switch (kind) {
    case Kind::kAnonymous:
      return " anon=" + std::to_string(all);
    case Kind::kFile:
      return " file=(file)";
    case Kind::kShared:
      return " file=(shared)";
    case Kind::kZero:
      return " file=(zero)";
    case Kind::kDevice:
      return " file=(device)";
    case Kind::kHuge:
      return " huge";
    case Kind::kUntold:
      break;
  }
  return {};
}

}  // namespace

std::string reduced_numa_maps(std::string_view numa_maps) {
  Sums sums;
  while (!numa_maps.empty()) {
    const std::size_t end = std::min(numa_maps.find('\n'), numa_maps.size());
    const std::vector<std::string_view> parts = split_words(numa_maps.substr(0, end));
    numa_maps.remove_prefix(std::min(end + 1, numa_maps.size()));
    if (parts.size() < 2) continue;
    Words words;
    words.policy = parts[1];
    for (std::size_t i = 2; i < parts.size(); ++i)
      take(words, parts[i]);
    add(sums, words);
  }
  std::string kept;
  for (const auto& [key, sum] : sums) {
    const auto& [policy, kind, page_size] = key;
    kept.append("0 ").append(policy).append(kind_words(kind, sum.pages));
    for (const auto& [node, pages] : sum.pages)
      kept += " N" + std::to_string(node) + "=" + std::to_string(pages);
    kept += " mappings=" + std::to_string(sum.mappings);
    if (!page_size.empty()) kept.append(" ").append(page_size);
    kept += '\n';
  }
  return kept;
}

}  // namespace angio::host
