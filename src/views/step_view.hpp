// The result of `angio bench step`: a table for a terminal, and a page with bars of how each rank's step
// splits.
#pragma once

#include "model/step_run.hpp"
#include "report/document.hpp"
#include "scaling/scaling.hpp"

namespace angio::views {

// scaling: what --scale came to; null: one number of ranks.
report::Document step_document(const model::StepRun& run, const scaling::Scaling* scaling);
report::Document step_page(const model::StepRun& run, const scaling::Scaling* scaling);
report::Drawing step_drawing(const model::StepRun& run);

}  // namespace angio::views
