// The JSON of `angio bench memory` (schema angio.bench-memory/1) as the values it was made of: what is judged
// of them, matrices of memory and copies to and from GPUs.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "model/bench_result.hpp"

namespace angio::import::memory_run {

bool looks_like_json(std::string_view bytes);
Result<model::MemoryBench> parse(std::string_view bytes, const std::string& name);

}  // namespace angio::import::memory_run
