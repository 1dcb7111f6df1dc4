// `numactl --hardware` to NUMA nodes, also from pieces: the distance table alone, a cut start.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "import/draft.hpp"
#include "import/lines.hpp"

namespace angio::import::numactl {

bool looks_like(const std::vector<Line>& lines);
Result<model::Machine> import_hardware(const std::vector<Line>& lines, Draft draft);

}  // namespace angio::import::numactl
