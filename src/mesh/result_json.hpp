// Reads a result again that `angio mesh` wrote ("angio.mesh/1"): for --resume, `angio mesh show` and
// everybody who compares. Damaged parts are counted in notes; figures that no test gives are left out.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "model/mesh.hpp"

namespace angio::mesh {

inline constexpr std::string_view kMeshSchema = "angio.mesh/1";

Result<model::MeshResult> parse_mesh_result(std::string_view bytes, const std::string& name);

}  // namespace angio::mesh
