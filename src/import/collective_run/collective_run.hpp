// The JSON of `angio bench collective` (schema angio.bench-collective/1) as the values it was made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/collective_run.hpp"

namespace angio::import::collective_run {

bool looks_like_json(std::string_view bytes);
Result<model::CollectiveRun> parse(std::string_view bytes, const std::string& name);

}  // namespace angio::import::collective_run
