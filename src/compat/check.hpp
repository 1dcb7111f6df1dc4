// What the documents demand of a stack of versions, held against one stack: each constraint holds, fails, or
// cannot be told because a value is missing; and what the NCCL in it brings. Facts come from
// knowledge/versions.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compat/stack.hpp"

namespace angio::compat {

enum class Verdict : std::uint8_t { kFails, kUnknown, kHolds, kRemark };

struct Constraint {
  std::string id{};  // "cuda.driver", "nccl.thread-mask"
  Verdict verdict = Verdict::kHolds;
  std::string title{};              // the answer in one line
  std::string explain{};            // why
  std::vector<std::string> seen{};  // the values it rests on, with their places
  std::vector<Part> missing{};      // kUnknown: what would decide
  std::string satisfy{};            // what would make it hold; empty: nothing to do
  std::string source{};
};

struct Feature {
  std::string id{};
  Verdict verdict = Verdict::kHolds;
  std::string title{};
  std::string since{};  // NCCL release
  std::string why{};    // kFails and kUnknown: which part is too old or missing
  std::string source{};
};

struct Report {
  std::vector<Constraint> constraints;  // worst first
  std::vector<Feature> features;        // by release
};

Report check(const Stack& stack);

}  // namespace angio::compat
