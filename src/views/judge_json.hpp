// Judgements as versioned JSON: {"schema": "angio.judge/1", …}. Figures in the unit that each row names;
// sizes in bytes, times in microseconds.
#pragma once

#include <string>

#include "base/json.hpp"
#include "views/judge_view.hpp"

namespace angio::views {

// captured: RFC 3339, UTC, when it was judged.
Json judge_json(const JudgeReport& report, const std::string& tool, const std::string& captured);

}  // namespace angio::views
