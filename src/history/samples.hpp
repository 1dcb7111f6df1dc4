// Two sets of repeats: whether one is larger, and by how much. Ranks alone decide, so one wild repeat moves
// little and no normal distribution is needed.
#pragma once

#include <span>

namespace angio::history {

struct TwoSamples {
  double chance = 1;  // of a difference like this, or more, where there is none: two-sided, Mann and Whitney
  double ratio = 1;   // Hodges and Lehmann: median of all b over a; 1 where values are not above 0
};

// Exact where all values differ and there are at most 50; else by the normal approximation with ties.
TwoSamples compare_samples(std::span<const double> a, std::span<const double> b);

}  // namespace angio::history
