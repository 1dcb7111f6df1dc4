// The judge of a mesh: what is usual, which host, NIC, rail, path or trunk is slow, what failed, and how it
// compares with the hardware and with TCP. Pure. Words come from data/rules/mesh.toml, docs/mesh.md explains
// the statistics.
#pragma once

#include "model/mesh.hpp"

namespace angio::mesh {

// Fills the judge's members of the measures, too.
model::MeshReport analyse(model::MeshResult& result);

}  // namespace angio::mesh
