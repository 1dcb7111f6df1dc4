// Which nodes a rank's host memory comes from. GPU memory and CXL memory are nodes too and are never among
// them. Not how a policy is set: that is launch.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "plan/locate.hpp"

namespace angio::plan {

// May hold host memory of ranks: has some, is of an ordinary kind, is in the memory mask.
bool holds_memory(const model::NumaNode& node, const PlanRequest& request);

// Sets rank.memory, rank.memory_nodes and a "memory" sentence. pool: where the rank's CPUs are.
void choose_memory(const model::Machine& machine, const Cores& cores, const PlanRequest& request,
                   std::size_t pool, model::RankPlacement& rank);

// Is there room for strict policies? Errors: next to nothing is free. Notes: little, or no huge pages.
Result<void> check_strict_memory(const model::Machine& machine, const PlanRequest& request,
                                 model::Placement& placement, std::uint32_t ranks_each_stands_for);

}  // namespace angio::plan
