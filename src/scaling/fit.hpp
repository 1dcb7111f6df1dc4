// Curves through a scaling: the serial share by Amdahl or Gustafson with its interval, and the terms by which
// the time of a step grows. Least squares over logarithms: an error of 1 % weighs the same at every N. Only
// for scaling.cpp and its tests.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "scaling/scaling.hpp"

namespace angio::scaling {

// Speed-up at one N over the baseline, as a logarithm: mean and sum of squares over its repeats.
struct Observation {
  double count = 1;  // devices
  double log_speedup = 0;
  std::uint32_t repeats = 1;
  double squares = 0;
};

// Counts are over those of the baseline. None with words below two N.
std::optional<Split> fit_split(std::span<const Observation> seen, Mode mode, std::string& why);
// None with words where there are too few N to tell the terms apart.
std::optional<Growth> fit_growth(std::span<const Observation> seen, Mode mode, std::string& why);

}  // namespace angio::scaling
