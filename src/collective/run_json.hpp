// A CollectiveRun as JSON and back, schema angio.bench-collective/1: how rank 0 hands it to the front, how it
// is kept, and what other commands read. views adds what history needs. Pure.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"
#include "model/collective_run.hpp"

namespace angio::collective {

inline constexpr std::string_view kRunSchema = "angio.bench-collective/1";

Json to_json(const model::CollectiveRun& run);
// Errors: no JSON, another schema, a member of another type (its name stands in the words).
Result<model::CollectiveRun> run_of(const Json& json);
Result<model::CollectiveRun> parse_run(std::string_view text);

}  // namespace angio::collective
