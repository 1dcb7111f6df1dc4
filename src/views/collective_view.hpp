// What `angio bench collective` measured, as people read it: the table of nccl-tests, single iterations, the
// check of the data, how long the start took, back ends side by side, pairs of ranks. Not the verdict:
// judge_view.
#pragma once

#include <optional>
#include <vector>

#include "judge/judge.hpp"
#include "model/collective_run.hpp"
#include "report/document.hpp"

namespace angio::views {

struct CollectiveReport {
  std::vector<model::CollectiveRun> runs;                   // one; several: back ends on the same work
  std::vector<std::optional<judge::Judgement>> judgements;  // of each; none: no topology is known
};

report::Document collective_document(const CollectiveReport& report);
// With plots and whole matrices.
report::Document collective_page(const CollectiveReport& report);
// Size against bus bandwidth of one collective of all runs, the first that was measured.
report::Drawing collective_drawing(const CollectiveReport& report);

}  // namespace angio::views
