// What `angio bench memory` will measure, decided before anything is allocated: nodes, CPUs of the threads,
// the size of the buffers, how long it takes. Pure: what is free is handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bench/available.hpp"
#include "model/machine.hpp"

namespace angio::bench {

struct MemoryWish {
  std::optional<CpuSet> nodes;           // node numbers; none: all but GPU memory
  std::optional<Bytes> size;             // of the buffer on each node; none: beyond the last-level caches
  std::optional<std::uint32_t> threads;  // on each node; none: one a core
  double seconds = 0.4;                  // for each figure
  bool cache_lines = false;
};

struct CpuSide {
  NumaId node;
  std::vector<std::uint32_t> cpus;  // a thread each, in the order that threads are added
};

struct MemoryPlan {
  std::vector<CpuSide> cpu_sides;
  std::vector<model::NumaNode> memory_nodes;
  bool one_memory = true;  // the machine has no second node: nothing to bind
  Bytes size;
  double seconds = 0.4;
  std::vector<std::uint32_t> cache_line_cpus;
  std::vector<std::string> left_out;
  std::vector<std::string> doubts;
  std::size_t figures = 0;
  double expected_seconds = 0;  // GPUs not counted: they are not known yet
};

Result<MemoryPlan> plan_memory_bench(const model::Machine& machine, const MemoryWish& wish,
                                     const Available& available);

// Nodes of the machine; of one without NUMA information a single node 0 with all CPUs and memory.
std::vector<model::NumaNode> nodes_or_whole(const model::Machine& machine);

// "about 8 s", "about 3 min".
std::string duration_in_words(double seconds);

}  // namespace angio::bench
