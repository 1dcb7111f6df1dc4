// A mesh's result and what was made of it as versioned JSON: {"schema": "angio.mesh/1", …}; rates in bits a
// second, times in microseconds, CPU as CPU seconds a second. src/mesh/result_json.hpp reads it again.
#pragma once

#include "base/json.hpp"
#include "model/mesh.hpp"

namespace angio::views {

Json mesh_json(const model::MeshResult& result, const model::MeshReport& report);

// What is worth keeping for the next time: rates and latencies of each host and pair.
std::vector<model::Metric> mesh_metrics(const model::MeshResult& result);

}  // namespace angio::views
