// The matrix in words: what each class that occurs means for traffic, what each GPU sees, and the pairs
// that stand out. Claims only what the class says; measured bandwidth is another matter.
#pragma once

#include <vector>

#include "model/machine.hpp"
#include "report/document.hpp"

namespace angio::views {

std::vector<report::Block> explain_topology(const model::Machine& machine);

}  // namespace angio::views
