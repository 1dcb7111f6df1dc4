#include "bench/conditions.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/text.hpp"

namespace angio::bench {

std::optional<CpuTime> parse_cpu_time(std::string_view stat) {
  // cpu user nice system idle iowait irq softirq steal guest guest_nice; guest is counted in user.
  constexpr std::size_t kIdle = 4;
  constexpr std::size_t kWait = 5;
  constexpr std::size_t kSteal = 8;
  const std::vector<std::string_view> words = split_words(stat.substr(0, stat.find('\n')));
  if (words.size() <= kSteal || words[0] != "cpu") return std::nullopt;
  CpuTime time;
  for (std::size_t index = 1; index <= kSteal; ++index) {
    const auto ticks = parse_integer<std::uint64_t>(words[index]);
    if (!ticks) return std::nullopt;
    time.all += *ticks;
    if (index == kIdle || index == kWait) time.idle += *ticks;
    if (index == kSteal) time.stolen = *ticks;
  }
  return time;
}

std::optional<double> parse_load(std::string_view loadavg) {
  const std::vector<std::string_view> words = split_words(loadavg);
  return words.empty() ? std::nullopt : parse_double(words[0]);
}

std::optional<CpuShares> shares_between(const CpuTime& before, const CpuTime& after) {
  if (after.all <= before.all || after.idle < before.idle || after.stolen < before.stolen)
    return std::nullopt;
  const auto all = static_cast<double>(after.all - before.all);
  const auto idle = static_cast<double>(after.idle - before.idle);
  const auto stolen = static_cast<double>(after.stolen - before.stolen);
  return CpuShares{100 * (all - idle - stolen) / all, 100 * stolen / all};
}

std::optional<CpuTime> read_cpu_time(const host::Root& root) {
  const auto text = root.read("/proc/stat");
  return text ? parse_cpu_time(*text) : std::nullopt;
}

std::optional<double> read_load(const host::Root& root) {
  const auto text = root.read("/proc/loadavg");
  return text ? parse_load(*text) : std::nullopt;
}

void judge(model::BenchConditions& conditions) {
  constexpr double kBusy = 5;  // percent that a quiet machine stays below
  constexpr double kStolen = 0.5;
  if (conditions.others_percent && *conditions.others_percent > kBusy) {
    conditions.doubts.push_back(fmt::format("other processes used {:.0f} % of all CPUs just before the start",
                                            *conditions.others_percent));
  }
  if (conditions.steal_percent && *conditions.steal_percent > kStolen) {
    conditions.doubts.push_back(
        fmt::format("the hypervisor took {:.1f} % of the CPU time meanwhile", *conditions.steal_percent));
  }
  if (conditions.virtual_machine) {
    conditions.doubts.emplace_back("a virtual machine: NUMA nodes and caches may not be the host's");
  }
}

}  // namespace angio::bench
