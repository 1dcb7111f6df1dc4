// One finding of a mesh or a judgement in the terminal's form: title, what was seen, cost, fixes, test and
// rule.
#pragma once

#include <string_view>

#include "model/finding.hpp"
#include "report/document.hpp"

namespace angio::views {

// own_source: of evidence that is the result itself; it is not repeated line by line.
void add_finding(const model::Finding& finding, std::string_view own_source, report::Document& document);

}  // namespace angio::views
