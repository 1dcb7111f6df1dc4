// A mesh as people read it: what is usual, the table of who reaches what with whom, what is wrong. And as a
// heat map.
#pragma once

#include "model/mesh.hpp"
#include "report/document.hpp"

namespace angio::views {

report::Document mesh_document(const model::MeshResult& result, const model::MeshReport& report,
                               bool show_undecided);
// For HTML: the same with the heat maps.
report::Document mesh_page(const model::MeshResult& result, const model::MeshReport& report);
// One map of all transports and rails, below each other.
report::Drawing mesh_drawing(const model::MeshResult& result, const model::MeshReport& report);

}  // namespace angio::views
