// Advice for a job: what it sends and which of latency and bandwidth rules, what to bind, what to leave
// unset; the scenario table beside what popular advice says; and which communication library is for what.
// Also as JSON
// {"schema": "angio.advice/1", …}. Used by `angio advise`.
#pragma once

#include "base/json.hpp"
#include "plan/advice.hpp"
#include "report/document.hpp"

namespace angio::views {

report::Document advice_document(const plan::JobShape& job, const plan::Advice& advice, bool with_sources);
Json advice_json(const plan::JobShape& job, const plan::Advice& advice);
report::Document scenario_document(bool with_sources);
Json scenario_json();
report::Document libraries_document(bool with_sources);
Json libraries_json();

}  // namespace angio::views
