// Timing of the loops: threads bound to CPUs work on slices of one buffer, repeated until the time is spent;
// chains of dependent loads; cache lines handed between two CPUs. Each gives every repeat, so that the spread
// is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bench/interrupts.hpp"
#include "bench/kernels.hpp"
#include "model/bench_result.hpp"

namespace angio::bench {

// Of nothing: no value.
model::BenchFigure figure_of(std::vector<double> samples);

struct Duration {
  double seconds = 0.4;
  std::uint32_t least_repeats = 3;
};

enum class Transfer : std::uint8_t { kRead, kCopy, kWrite };

// Bytes per second of each repeat. Copy goes from the first half of each slice to the second and counts both.
Result<std::vector<double>> time_transfer(Transfer transfer, const Kernels& kernels,
                                          std::span<std::byte> buffer, std::span<const std::uint32_t> cpus,
                                          const Duration& duration, const Interrupts& interrupts);

// Nanoseconds a load of each repeat, on this CPU; the lines are a ring (make_chain).
Result<std::vector<double>> time_chain(std::span<const ChainLine> lines, std::uint32_t cpu,
                                       const Duration& duration, const Interrupts& interrupts);

// Nanoseconds one way of each repeat between two CPUs. Stops when one of them does not come to run.
Result<std::vector<double>> time_cache_line(std::uint32_t first, std::uint32_t second,
                                            const Duration& duration, const Interrupts& interrupts);

}  // namespace angio::bench
