// The doctor's words: how the nodes compare, each finding with what was seen, what it costs, how to cure and
// how to disprove it, then the counts. Nothing when there is nothing.
#pragma once

#include "report/document.hpp"
#include "views/doctor_report.hpp"

namespace angio::views {

report::Document doctor_document(const DoctorReport& report);
// Who looked and when the nodes were captured: a page that is kept or mailed must say it, a terminal need
// not. Empty when nobody knows.
std::string provenance(const DoctorReport& report);

// `angio explain`: the list of rules, or one rule's text.
report::Document rules_document();
// Null content (no blocks) when there is no such rule.
report::Document rule_document(std::string_view id);

}  // namespace angio::views
