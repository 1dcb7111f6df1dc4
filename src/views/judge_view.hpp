// Judgements as people read them: the answer, the rows with measured against expected, what to check next. In
// HTML with a plot of each curve over the band that is expected.
#pragma once

#include <vector>

#include "judge/judge.hpp"
#include "report/document.hpp"

namespace angio::views {

struct JudgeReport {
  std::vector<judge::Judgement> judgements;
  std::vector<std::string> notes;  // of the files: what was cut or left out
  bool explain = false;            // every row, its limit, what was undecided
};

report::Document judge_document(const JudgeReport& report);
// For HTML: everything, with the plots.
report::Document judge_page(const JudgeReport& report);
// Of one curve; of size 0 for other results.
report::Drawing judge_drawing(const judge::Judgement& judgement);

}  // namespace angio::views
