// The variables that a placement adds to a rank's environment, as a list of changes with their reasons, and
// the environment with them. Pure. Variables are added, never replaced, with one exception that the user asks
// for: narrowing the visible devices to the rank's own. KMP_AFFINITY, GOMP_CPU_AFFINITY and the like stay as
// they are: the mask already says what they would.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/machine.hpp"
#include "model/placement.hpp"

namespace angio::launch {

struct EnvironmentOptions {
  bool own_device = false;  // --devices own
  bool adapters = false;    // --nics: NCCL_IB_HCA
};

// One variable: set (value), or left as the user has it (kept), and why.
struct VariableChange {
  std::string name;
  std::string value;
  std::optional<std::string> before;  // its value until now
  bool kept = false;                  // it was set already and stays
  std::string why;
};

// Errors: own_device without a GPU whose name in the variable is known.
Result<std::vector<VariableChange>> plan_environment(const model::Machine& machine,
                                                     const model::RankPlacement& placement,
                                                     const EnvironmentOptions& options,
                                                     std::span<const std::string> environment);

// environment with the changes that are not kept; a name appears once.
std::vector<std::string> apply_changes(std::span<const std::string> environment,
                                       std::span<const VariableChange> changes);

}  // namespace angio::launch
