// Where each rank of a job goes on one machine: GPU, CPUs, memory, network adapters, threads, and why.
// Made by plan, carried out by launch, shown by views. Not a statement of what is: that is Process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/ids.hpp"
#include "model/machine.hpp"
#include "model/path.hpp"

namespace angio::model {

// set_mempolicy(2). kNone leaves the policy as it is inherited.
enum class MemoryPolicy : std::uint8_t { kNone, kPreferred, kBind, kInterleave, kLocal };

// One choice and its grounds: what is "gpu", "cpus", "memory", "nic", "threads" or "loaders".
struct Why {
  std::string what;
  std::string text;  // a whole sentence that names where the fact was seen
};

struct RankPlacement {
  std::uint32_t local_rank = 0;
  std::optional<std::uint32_t> gpu;  // in machine.gpus
  std::string device;  // how the visible-devices variable names it: "3", "GPU-1f…", "MIG-…"; may be empty
  std::optional<NumaId> node;    // nearest node with CPUs; none: unknown, and then nothing is bound
  CpuSet cpus;                   // empty: not bound
  std::uint32_t cores = 0;       // physical cores in cpus
  std::uint32_t kept_cores = 0;  // of these, left to NCCL's proxy threads and the like
  MemoryPolicy memory = MemoryPolicy::kNone;
  CpuSet memory_nodes;               // empty with kNone and kLocal
  std::vector<std::uint32_t> rdma;   // in machine.rdma, the ones to use, nearest first
  Path rdma_path;                    // from the GPU (or its node) to the first of them
  std::uint32_t threads = 0;         // OMP_NUM_THREADS; 0: leave
  std::uint32_t loader_workers = 0;  // suggested DataLoader workers; 0: none to suggest
  std::vector<Why> why;
};

struct Placement {
  std::vector<RankPlacement> ranks;  // by local rank
  CpuSet system_cpus;                // kept free of ranks
  std::vector<Note> notes;           // what a user must know: unknown node, oversubscription, remote adapters
};

}  // namespace angio::model
