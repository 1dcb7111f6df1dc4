// What lets a reader doubt a measurement: load, CPU time of others, time stolen by a hypervisor.
// Readings of /proc/loadavg and /proc/stat; pure comparison of two of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "host/root.hpp"
#include "model/bench_result.hpp"

namespace angio::bench {

// The first line of /proc/stat in ticks, summed over all CPUs (proc_stat(5)).
struct CpuTime {
  std::uint64_t all = 0;
  std::uint64_t idle = 0;  // with iowait
  std::uint64_t stolen = 0;
};
std::optional<CpuTime> parse_cpu_time(std::string_view stat);
std::optional<double> parse_load(std::string_view loadavg);

// Shares in percent of the time between two readings.
struct CpuShares {
  double busy = 0;  // neither idle nor stolen
  double stolen = 0;
};
std::optional<CpuShares> shares_between(const CpuTime& before, const CpuTime& after);

std::optional<CpuTime> read_cpu_time(const host::Root& root);
std::optional<double> read_load(const host::Root& root);

// Puts the doubts in words.
void judge(model::BenchConditions& conditions);

}  // namespace angio::bench
