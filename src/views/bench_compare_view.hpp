// What a comparison of two commands showed: the answer first, then what it rests on; and as JSON with every
// run (schema angio.bench-compare/1).
#pragma once

#include <string>

#include "base/json.hpp"
#include "experiment/comparison.hpp"
#include "report/document.hpp"

namespace angio::views {

// "bound needs 3.2 % to 5.1 % less time than unbound (95 % confidence, 10 runs each)",
// "no difference shown: bound's time is between 1.4 % less and 1 % more than unbound's (…)".
std::string verdict_words(const experiment::Comparison& comparison);
report::Document comparison_result_document(const experiment::Comparison& comparison);
Json comparison_result_json(const experiment::Comparison& comparison);

}  // namespace angio::views
