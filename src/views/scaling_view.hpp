// What `angio scaling` and `angio bench step --scale` show: a table of efficiency against N, what it means,
// and the plot with the ideal line. JSON: "angio.scaling/1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "report/document.hpp"
#include "scaling/read.hpp"
#include "scaling/scaling.hpp"

namespace angio::views {

struct ScalingAnswer {
  scaling::Scaling scaling;
  std::string mode_from;  // why this mode: "said with --mode", "the global batch is 1024 at every N"
  std::vector<std::string> alternatives;  // other columns that could be the result
};

struct ScalingShow {
  std::string source;  // file
  std::string form;    // "CSV"
  std::vector<ScalingAnswer> answers;
  std::uint32_t single = 0;  // series with results at one N only
  std::uint32_t silent = 0;  // that do not say which mode
  std::vector<scaling::Note> notes;
};

// One series: its answer, table and findings.
std::vector<report::Block> scaling_blocks(const ScalingAnswer& answer);
// Speed-up against N, both logarithmic, with the ideal line.
report::Drawing scaling_drawing(const scaling::Scaling& scaling);
Json scaling_json(const ScalingAnswer& answer);

report::Document scaling_document(const ScalingShow& show);  // without drawings
report::Document scaling_page(const ScalingShow& show);
Json scaling_result_json(const ScalingShow& show);

// What a series would be under both modes, where nobody said which; and, for speed-ups, over several
// baselines.
struct ScalingQuestion {
  std::string source;
  scaling::TableSeries table;
  std::optional<std::uint32_t> baseline;
};
report::Document scaling_question_document(const ScalingQuestion& question);
Json scaling_question_json(const ScalingQuestion& question);

}  // namespace angio::views
