// Puts N ranks next to the GPUs of one machine. Pure: machine and request in, Placement out; nothing is read
// from the host and nothing is bound. Knows the visible-devices variables, masks, sub-NUMA clusters, nodes
// without CPUs or memory, unknown nodes; says what it could not decide instead of guessing.
// Used by `angio plan`, `angio run` and the C library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/error.hpp"
#include "model/machine.hpp"
#include "model/placement.hpp"

namespace angio::plan {

// Which CPUs a rank may use. kExclusive, the default: a fair share of its node's cores, its own alone.
enum class CpuPolicy : std::uint8_t {
  kExclusive,  // the node's cores divided among the ranks whose GPUs hang off it
  kNode,       // all of the node, shared
  kPackage,    // all of the node's package, shared
  kL3,         // whole last-level cache domains, divided
  kCore,       // one physical core a rank, as mpirun --bind-to core
  kNone,       // leave the CPUs as they are
};

enum class Smt : std::uint8_t { kAll, kOne };  // all hardware threads of a core, or the first only

// The variables that decide which GPUs a process sees, as the ranks will find them.
struct VisibleDevices {
  std::optional<std::string> cuda;        // CUDA_VISIBLE_DEVICES
  std::optional<std::string> cuda_order;  // CUDA_DEVICE_ORDER
  std::optional<std::string> rocr;        // ROCR_VISIBLE_DEVICES
  std::optional<std::string> hip;         // HIP_VISIBLE_DEVICES
};

struct PlanRequest {
  std::optional<std::uint32_t>
      ranks;  // on this machine; none: one for each visible GPU, else one a node with CPUs
  CpuPolicy cpus = CpuPolicy::kExclusive;
  model::MemoryPolicy memory = model::MemoryPolicy::kPreferred;
  Smt smt = Smt::kAll;
  std::uint32_t system_cores = 0;  // kept free of ranks on every node
  VisibleDevices visible;
  std::optional<CpuSet> allowed_cpus;    // none: machine.cpus.allowed
  std::optional<CpuSet> allowed_memory;  // none: all nodes
};

// Errors: a visible-devices word that names no GPU, an empty mask, a mask that no node of the machine holds,
// a strict memory policy on nodes that cannot hold it. Everything else is a note of the placement.
Result<model::Placement> make_placement(const model::Machine& machine, const PlanRequest& request);

// The wrapper's case: one rank that knows its local rank, the number of ranks beside it and its own
// variables. A rank that sees a single GPU owns it whatever its number; a mask that a scheduler already cut
// for this task is not cut again.
struct RankRequest {
  PlanRequest plan;  // ranks: those on this machine, if the launcher said so
  std::uint32_t local_rank = 0;
};
Result<model::Placement> make_rank_placement(const model::Machine& machine, const RankRequest& request);

}  // namespace angio::plan
