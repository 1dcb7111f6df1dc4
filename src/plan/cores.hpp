// The cores that ranks may use, node by node, and how they are shared out. Knows masks, offline and isolated
// CPUs, SMT siblings and last-level caches. Not where a rank belongs: that is locate.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/error.hpp"
#include "model/machine.hpp"
#include "plan/plan.hpp"

namespace angio::plan {

// One NUMA node with CPUs.
struct Pool {
  std::uint32_t index = 0;  // in machine.numa.nodes
  NumaId node;
  std::optional<std::uint32_t> package;
  std::vector<CpuSet> cores;           // for ranks: allowed, online, not isolated, not kept for the system
  std::vector<std::uint32_t> domains;  // of each core: its last-level cache, kNoDomain if not known
  std::uint32_t unmasked = 0;          // as many cores it would have without a mask
};
constexpr std::uint32_t kNoDomain = UINT32_MAX;

struct Cores {
  std::vector<Pool> pools;  // in the order of machine.numa.nodes
  CpuSet system;            // kept free of ranks
  bool masked = false;      // the mask leaves out CPUs that are online
  std::vector<model::Note> notes;
};

// Errors: an empty mask, or one that no CPU of the machine is in.
Result<Cores> make_cores(const model::Machine& machine, const PlanRequest& request);

// Part `first` to `first + span` of `parts` equal ones.
struct Slot {
  std::uint32_t parts = 1;
  std::uint32_t first = 0;
  std::uint32_t span = 1;
};

struct Share {
  CpuSet cpus;
  std::uint32_t cores = 0;
  bool shared = false;      // fewer cores than parts: somebody else has this core too
  bool cut_domain = false;  // kL3, but there are fewer caches than parts, or they are not known
};
// For the policies that divide a node: kExclusive, kL3, kCore.
Share share_of(const Pool& pool, CpuPolicy policy, const Slot& slot);

// All cores of these pools.
Share whole_of(const std::vector<const Pool*>& pools);

}  // namespace angio::plan
