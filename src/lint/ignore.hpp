// Comments that silence a rule: "# angio: ignore RULE, RULE" on the line (or, alone, above it) and
// "# angio: ignore-file RULE". A continued line is one line. Names that are no rule are complained of.
#pragma once

#include "lint/lint.hpp"

namespace angio::lint {

// Takes away what the files silence and adds a complaint for each name that no rule has.
void apply_ignores(const std::vector<Script>& scripts, std::vector<Complaint>& complaints);

}  // namespace angio::lint
