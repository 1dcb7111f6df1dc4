// Where this very process belongs: its rank by the launcher's variables, the machine in as few reads as
// placing needs, the placement of that rank. Shared by both forms of `angio run` and by the C library.
// Nothing is bound here.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "launch/rank.hpp"
#include "model/machine.hpp"
#include "model/placement.hpp"
#include "plan/plan.hpp"

namespace angio::place {

// The variables that choose GPUs, of "NAME=value" entries.
plan::VisibleDevices visible_in(std::span<const std::string> environment);

// policy with what this process is subject to: its variables and its mask of memory nodes.
plan::PlanRequest live_request(plan::PlanRequest policy, std::span<const std::string> environment);

// Quick, unless only NVML can tell what the plan needs. adapters: network adapters too.
Result<model::Machine> look_at_machine(const plan::PlanRequest& request, bool adapters);

struct OwnPlace {
  launch::LocalRank local;
  model::Machine machine;
  model::Placement placement;  // of this rank alone
};

// Errors: no rank variable (kNotFound), contradictory ones, and those of make_rank_placement.
Result<OwnPlace> find_own_place(const launch::GivenRank& given, const plan::PlanRequest& policy,
                                bool adapters, std::span<const std::string> environment);

}  // namespace angio::place
