// The figures of `angio bench memory` that are worth keeping: what `angio history` compares.
#pragma once

#include <vector>

#include "model/bench_result.hpp"
#include "model/metric.hpp"

namespace angio::views {

// "node 0 -> memory 1", "GPU 3 <-> node 0, pinned"; GB/s of 10^9 bytes, ns.
std::vector<model::Metric> memory_bench_metrics(const model::MemoryBench& bench);

}  // namespace angio::views
