// One fabric's counters, states and cables over another one's topology. Nodes are matched by GUID, by the
// GUID of a port, by name and LID, then by a LID or a name that only one node has.
#pragma once

#include <string>

#include "model/fabric.hpp"

namespace angio::import::fabric {

// name: of the text that `more` was read from.
model::Fabric lay_over(model::Fabric base, model::Fabric more, const std::string& name);

}  // namespace angio::import::fabric
