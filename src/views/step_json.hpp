// The result of `angio bench step` as JSON: "angio.bench-step/1".
#pragma once

#include "base/json.hpp"
#include "model/step_run.hpp"

namespace angio::views {

Json step_json(const model::StepRun& run);

}  // namespace angio::views
