#include "probe/sysfs/cpu_cache.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "base/text.hpp"
#include "probe/sysfs/cpu_sets.hpp"

namespace angio::probe {
namespace {

// More than any kernel makes; a bound for hostile trees.
constexpr std::size_t kMaxIndexes = 16;

std::optional<model::CacheKind> parse_kind(std::string_view text) {
  if (text == "Data") return model::CacheKind::kData;
  if (text == "Instruction") return model::CacheKind::kInstruction;
  if (text == "Unified") return model::CacheKind::kUnified;
  return std::nullopt;
}

// "2048K": the kernel always writes kibibytes, with a K.
std::optional<Bytes> parse_cache_size(std::string_view text) {
  constexpr std::uint64_t kMostKibibytes = std::uint64_t{1} << 40U;
  if (!text.ends_with('K')) return std::nullopt;
  const auto count = parse_integer<std::uint64_t>(text.substr(0, text.size() - 1));
  if (!count || *count > kMostKibibytes) return std::nullopt;
  return kibibytes(*count);
}

class CacheReader {
 public:
  CacheReader(const Place& directory, model::Machine& machine) : directory_(directory), machine_(machine) {}

  void read(std::uint32_t cpu) {
    for (std::size_t index = 0; index < kMaxIndexes; ++index) {
      if (covered_[index].contains(cpu)) continue;
      if (!read_index(cpu, index)) return;
    }
  }

 private:
  // What index N was on the CPU before. Kernels number caches by level, data before instruction, so an
  // index of the same size is the same kind; this halves the reads on machines with many equal cores.
  struct Known {
    std::uint32_t level = 0;
    model::CacheKind kind = model::CacheKind::kUnified;
    Bytes size;
  };

  // False when this CPU has no such index, and so none above it.
  bool read_index(std::uint32_t cpu, std::size_t index) {
    const Place place(directory_.root(), machine_,
                      directory_.path("cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index)));
    model::Cache cache;
    cache.size = place.parsed("size", parse_cache_size);
    const std::optional<Known>& known = known_[index];
    if (known && cache.size.is(known->size)) {
      cache.level = known->level;
      cache.kind = known->kind;
    } else if (!read_kind(place, index, cache)) {
      return cache.level != 0;
    }
    cache.cpus = shared_cpus(place, cpu);
    covered_[index] |= cache.cpus;
    machine_.cpus.caches.push_back(std::move(cache));
    return true;
  }

  // False without level or kind; level stays 0 when there is no such index at all.
  bool read_kind(const Place& place, std::size_t index, model::Cache& cache) {
    const Observed<std::string> type = place.text("type");
    if (!type.is_known()) return false;
    const Observed<std::uint32_t> level = place.integer<std::uint32_t>("level");
    cache.level = std::max(level.value_or(1), 1U);
    const auto kind = parse_kind(*type.get());
    if (!level.is_known() || !kind) return false;
    cache.kind = *kind;
    if (cache.size.is_known()) known_[index] = Known{cache.level, cache.kind, *cache.size.get()};
    return true;
  }

  [[nodiscard]] CpuSet shared_cpus(const Place& place, std::uint32_t cpu) const {
    CpuSet set = observe_cpu_set(place, "shared_cpu_list", "shared_cpu_map").value_or({});
    set &= machine_.cpus.online;
    set.insert(cpu);
    return set;
  }

  const Place& directory_;
  model::Machine& machine_;
  std::array<CpuSet, kMaxIndexes> covered_;
  std::array<std::optional<Known>, kMaxIndexes> known_;
};

}  // namespace

void read_caches(const Place& cpu_directory, model::Machine& machine) {
  CacheReader reader(cpu_directory, machine);
  for (const std::uint32_t cpu : machine.cpus.online.members())
    reader.read(cpu);
  std::vector<model::Cache>& caches = machine.cpus.caches;
  const auto key = [](const model::Cache& cache) {
    return std::tuple(cache.level, cache.cpus.first(), cache.kind);
  };
  std::ranges::stable_sort(caches, {}, key);
  // The same cache under two indexes: kinds of core that number their caches differently.
  const auto same = [](const model::Cache& a, const model::Cache& b) {
    return a.level == b.level && a.kind == b.kind && a.cpus == b.cpus;
  };
  caches.erase(std::ranges::unique(caches, same).begin(), caches.end());
}

}  // namespace angio::probe
