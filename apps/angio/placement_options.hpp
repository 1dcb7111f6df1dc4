// The options that say how ranks are placed, shared by `angio plan` and `angio run`, and the request they
// make together with the variables that choose GPUs. Not the placement itself: that is plan/plan.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "plan/plan.hpp"

namespace angio::app {

class CommandLine;

// The words as they were given; add_placement_options lets only known ones in.
struct PlacementOptions {
  std::string cpus = "exclusive";
  std::string memory = "preferred";
  std::string smt = "all";
  std::uint32_t system_cores = 0;
};

// --cpus, --memory, --smt, --system-cores.
void add_placement_options(CommandLine& app, PlacementOptions& options);

// The policies. Ranks, variables and masks are left to the caller.
plan::PlanRequest to_request(const PlacementOptions& options);

}  // namespace angio::app
