// Copies between host memory of every node with CPUs and every GPU, pinned and pageable, both ways.
// Without a CUDA driver one line says so. Everything taken is given back, after errors, too.
#pragma once

#include "bench/memory_bench.hpp"

namespace angio::bench {

void measure_gpu_copies(const model::Machine& machine, const MemoryPlan& plan, const BenchTools& tools,
                        model::MemoryBench& bench);

}  // namespace angio::bench
