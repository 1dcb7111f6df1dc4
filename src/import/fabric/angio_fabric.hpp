// Angio's own JSON of a fabric ("schema": "angio.fabric/1", written by views/fabric_json.cpp), back to the
// same Fabric. Cells are found by "port_columns"; what a newer Angio adds is skipped with a note.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "model/fabric.hpp"

namespace angio::import::fabric {

Result<model::Fabric> import_angio_fabric(std::string_view text, const std::string& name);

}  // namespace angio::import::fabric
