// How a training step is spoken of, the same in the terminal, HTML and JSON.
#pragma once

#include <string>

#include "model/step_run.hpp"

namespace angio::views {

std::string step_layout_words(const model::StepLayout& layout);  // "dp 2 (ddp) x tp 2 x pp 2"
std::string step_shape_words(const model::StepShape& shape);     // "gpt2-small, 124.4 M parameters"
std::string step_time(double ms);                                // "42.1 ms", "1.24 s"
// "rank 2 is what the others wait for: it computes 84.0 ms a step, the others 40.2 ms (18 of 20 steps)"
std::string slow_rank_words(const model::StepRun& run);

}  // namespace angio::views
