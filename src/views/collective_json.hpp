// What `angio bench collective` measured as JSON: its own schema with what `angio history` keeps, and the
// file that nccl-tests writes with -J.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/json.hpp"
#include "views/collective_view.hpp"

namespace angio::views {

// One run: angio.bench-collective/1; several: angio.bench-collective-compare/1 with each under "runs".
Json collective_json(const CollectiveReport& report);

// Schema version 1 of nccl-tests (2.17.4). Errors: several collectives or runs, which are several files
// there.
Result<Json> collective_nccl_tests_json(const CollectiveReport& report);

}  // namespace angio::views
