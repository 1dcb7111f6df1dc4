// What the linter says, as a document, as JSON and as SARIF 2.1.0 for code hosts. Shows lint::Report; judges
// nothing. Used by `angio lint`.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "lint/lint.hpp"
#include "report/document.hpp"

namespace angio::views {

struct LintView {
  const lint::Report& report;
  const std::vector<lint::Script>& scripts;
  bool effective = false;  // the table of variables too
  std::string tool;        // "angio 0.2.0"
};

report::Document lint_document(const LintView& view);
Json lint_json(const LintView& view);
Json lint_sarif(const LintView& view);

// The list of rules.
report::Document lint_rules_document();
Json lint_rules_json();

// "error", "warning", "info": what a severity is called by the linter.
std::string_view lint_severity(model::Severity severity);

}  // namespace angio::views
