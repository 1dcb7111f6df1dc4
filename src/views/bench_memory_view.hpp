// What `angio bench memory` measured, as matrices of node by node, CPU by CPU and node by GPU, and as JSON
// (schema angio.bench-memory/1). The grounds to doubt the figures stand under them.
#pragma once

#include "base/json.hpp"
#include "model/bench_result.hpp"
#include "report/document.hpp"

namespace angio::views {

report::Document memory_bench_document(const model::MemoryBench& bench);
Json memory_bench_json(const model::MemoryBench& bench);

}  // namespace angio::views
