// Something to compute for a given time, so that communication has something to hide behind: arithmetic of a
// calibrated amount, or waiting as though a GPU worked.
#pragma once

#include "step/spec.hpp"

namespace angio::step {

class Computer {
 public:
  // Calibrates kWork by this thread's CPU time: what others take of the core meanwhile does not count.
  explicit Computer(Compute kind);
  // Returns after about so many milliseconds of an undisturbed core.
  void work(double ms);

 private:
  Compute kind_;
  double rounds_a_ms_ = 0;
  float sink_ = 0;
};

}  // namespace angio::step
