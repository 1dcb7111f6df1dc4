// CPUs and memory of one machine: packages, cores, caches, NUMA nodes, what is offline, isolated or
// not allowed here. Pure values; probes and importers fill them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "model/observed.hpp"

namespace angio::model {

struct CpuModel {
  Observed<std::string> architecture;  // "x86_64", "aarch64", "ppc64le" as uname -m
  Observed<std::string> vendor;        // "GenuineIntel", "AuthenticAMD", "ARM"
  Observed<std::string> name;          // "Intel(R) Xeon(R) Platinum 8480C"
  Observed<std::uint32_t> family;
  Observed<std::uint32_t> model;
  Observed<std::uint32_t> stepping;
};

struct Package {
  std::uint32_t id = 0;  // physical_package_id
  CpuSet cpus;
};

struct Core {
  std::uint32_t package = 0;
  std::uint32_t id = 0;  // core_id, unique within the package (and die)
  std::optional<std::uint32_t> die;
  std::optional<std::uint32_t> cluster;
  CpuSet cpus;  // SMT siblings
};

enum class CacheKind : std::uint8_t { kData, kInstruction, kUnified };

struct Cache {
  std::uint32_t level = 0;
  CacheKind kind = CacheKind::kUnified;
  Observed<Bytes> size;
  CpuSet cpus;
};

struct Cpus {
  CpuModel model;
  CpuSet online;
  Observed<CpuSet> present;
  Observed<CpuSet> offline;
  Observed<CpuSet> isolated;  // isolcpus
  Observed<CpuSet> nohz_full;
  Observed<CpuSet> allowed;       // this process: cgroup cpuset and affinity mask
  std::vector<Package> packages;  // by id
  std::vector<Core> cores;        // by first CPU
  std::vector<Cache> caches;      // by level, then first CPU
  Observed<std::uint32_t> threads_per_core;
  Observed<std::string> governor;          // "performance"; mixed: "performance, powersave"
  Observed<std::string> frequency_driver;  // "intel_pstate"
  Observed<std::string> cgroup;            // "v1", "v2", "hybrid"
};

// What a NUMA node is made of. GPU and CXL memory are nodes too, and must not take host allocations.
enum class NumaKind : std::uint8_t {
  kOrdinary,       // CPUs and memory
  kCpuOnly,        // CPUs, no memory
  kMemoryOnly,     // memory, no CPUs, of no known special kind
  kGpuMemory,      // coherent GPU memory (Grace, Power9)
  kCxl,            // CXL or DAX memory
  kHighBandwidth,  // MCDRAM, HBM beside DRAM
  kEmpty,          // neither
};

// HMAT: firmware's figures from the node's best initiators (access class 0).
struct MemoryAccess {
  Observed<BytesPerSecond> read_bandwidth;
  Observed<BytesPerSecond> write_bandwidth;
  Observed<Nanoseconds> read_latency;
  Observed<Nanoseconds> write_latency;
  Observed<CpuSet> initiators;  // node numbers
};

struct HugePages {
  Bytes page_size;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

struct NumaNode {
  NumaId id;
  NumaKind kind = NumaKind::kOrdinary;
  CpuSet cpus;
  Observed<Bytes> memory;
  Observed<Bytes> memory_free;
  std::vector<HugePages> huge_pages;
  MemoryAccess access;
  Observed<std::vector<std::uint32_t>> distances;  // to numa.nodes, same order; local is 10
};

struct Numa {
  std::vector<NumaNode> nodes;                // by id; ids may be sparse
  Observed<std::uint32_t> nodes_per_package;  // SNC and NPS: 1, 2, 4
  Observed<std::int64_t> zone_reclaim_mode;
  Observed<std::int64_t> balancing;              // kernel.numa_balancing
  Observed<std::string> transparent_huge_pages;  // "always", "madvise", "never"
  bool discarded = false;  // the kernel's CPU maps overlap: NUMA information was not used
};

}  // namespace angio::model
