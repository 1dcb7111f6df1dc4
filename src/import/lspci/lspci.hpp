// `lspci`, with -nn, -n or -v to -vvv, to PCI devices, their tree (from the bridges' bus numbers), links,
// ACS and GPUs. The drawing of -t is not read. Names of NICs (mlx5_0) are not in this output.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "import/draft.hpp"
#include "import/lines.hpp"

namespace angio::import::lspci {

bool looks_like(const std::vector<Line>& lines);
Result<model::Machine> import_lspci(const std::vector<Line>& lines, Draft draft);

}  // namespace angio::import::lspci
