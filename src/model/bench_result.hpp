// What `angio bench` measured: memory between NUMA nodes, cache lines between CPUs, copies between host
// memory and GPUs, and the conditions that let a reader doubt a figure. Values only: bench makes them, views
// show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"

namespace angio::model {

// Repeats of one measurement, in the unit of its place.
struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;
  std::uint32_t repeats = 0;
};

// Not measured: says why ("node 2 has no memory").
struct BenchFigure {
  std::optional<Spread> value;
  std::string missing;
};

// Where the pages of a buffer really were, as the kernel says.
struct BufferPlace {
  Bytes size;
  std::string
      pages;  // "2 MiB (hugetlb)", "2 MiB (transparent)", "4 KiB", "4 KiB and 2 MiB (transparent, 40 %)"
  double huge_share = 0;    // 0 to 1
  std::uint64_t asked = 0;  // pages that move_pages(2) was asked for; 0: it could not be asked
  std::uint64_t there = 0;  // of these, on the wanted node
  std::string doubt;        // why the place is not certain; empty: it is
};

// Threads of one node on memory of one node.
struct MemoryCell {
  NumaId cpus;
  NumaId memory;
  std::uint32_t threads = 0;
  BenchFigure read;     // bytes per second
  BenchFigure copy;     // bytes read plus bytes written, per second
  BenchFigure write;    // non-temporal stores, bytes per second
  BenchFigure latency;  // nanoseconds a dependent load
  BufferPlace place;
};

// Nanoseconds that one cache line needs from a core to the other (half of a round trip).
struct CacheLineCell {
  std::uint32_t from = 0;  // CPU numbers
  std::uint32_t to = 0;
  BenchFigure latency;
};

enum class CopyDirection : std::uint8_t { kToGpu, kFromGpu };

struct GpuCopyCell {
  NumaId node;
  std::uint32_t gpu = 0;  // CUDA's ordinal in PCI order
  bool pinned = false;
  CopyDirection direction = CopyDirection::kToGpu;
  BenchFigure rate;  // bytes per second
};

struct BenchGpu {
  std::uint32_t ordinal = 0;
  std::string pci;  // "0000:1b:00.0"
  std::string name;
  std::optional<NumaId> node;
};

// Grounds to doubt the figures.
struct BenchConditions {
  std::optional<double> load_before;     // 1-minute load average before the start
  std::optional<double> steal_percent;   // of the machine's CPU time while it ran
  std::optional<double> others_percent;  // CPU time of other processes, in percent of all CPUs, just before
  bool virtual_machine = false;
  std::vector<std::string> doubts;  // whole sentences
};

struct MemoryBench {
  std::string machine;
  std::string instructions;  // "AVX-512", "AVX2", "SSE2", "NEON"
  std::vector<NumaId> cpu_nodes;
  std::vector<NumaId> memory_nodes;
  std::vector<MemoryCell> cells;
  std::vector<std::string> left_out;  // nodes with no memory or no CPUs, in words
  bool with_cache_lines = false;
  std::vector<CacheLineCell> cache_lines;
  std::vector<BenchGpu> gpus;
  std::vector<GpuCopyCell> gpu_copies;
  std::string gpu_note;  // why there are no GPU figures; empty: there are
  BenchConditions conditions;
  double seconds = 0;
  bool interrupted = false;  // what is there was finished before
};

}  // namespace angio::model
