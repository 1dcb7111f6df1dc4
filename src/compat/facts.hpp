// Shared by the constraints of this library: how a condition of the tables holds for a stack, and values in
// words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compat/check.hpp"
#include "knowledge/versions.hpp"

namespace angio::compat {

// None: the part is unknown, or its value is no version.
std::optional<bool> holds(const Stack& stack, const knowledge::VersionCondition& condition);

struct AllHold {
  bool known_false = false;
  std::vector<const knowledge::VersionCondition*> failing;
  std::vector<Part> missing;
  [[nodiscard]] bool all() const { return !known_false && missing.empty(); }
};
AllHold all_hold(const Stack& stack, std::span<const knowledge::VersionCondition> conditions);

// "Linux 5.12 or newer", "open kernel module", "NCCL 2.29.2 to 2.29.7".
std::string in_words(const knowledge::VersionCondition& condition);
// "driver 535.54.03 (line 2)".
std::string seen(const Stack& stack, Part part);
std::optional<std::uint32_t> major_of(const std::string& version);

// The constraints that need more than a table of conditions.
void driver_constraints(const Stack& stack, std::vector<Constraint>& out);
void cuda_constraints(const Stack& stack, std::vector<Constraint>& out);
void gpu_constraints(const Stack& stack, std::vector<Constraint>& out);
void nccl_constraints(const Stack& stack, std::vector<Constraint>& out);
void firmware_constraints(const Stack& stack, std::vector<Constraint>& out);

}  // namespace angio::compat
