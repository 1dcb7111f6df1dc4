// `nvidia-smi topo -m` and `topo -p2p`, alone or together in one text, to GPUs, RDMA devices, stated
// paths and peer access. The old SOC form, NIC legends and damaged pastes included.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "import/draft.hpp"
#include "import/lines.hpp"

namespace angio::import::smi_topo {

// Which of the two tables comes first; kUnknown when there is none.
ForeignKind first_table(const std::vector<Line>& lines);

Result<model::Machine> import_tables(const std::vector<Line>& lines, Draft draft);

}  // namespace angio::import::smi_topo
