// Tables of the topology: GPU to GPU, NIC to GPU, NUMA distances, NVLinks, and the legend of the classes
// that occur. The classes are those of `nvidia-smi topo -m`.
#pragma once

#include <vector>

#include "model/machine.hpp"
#include "report/document.hpp"

namespace angio::views {

report::Table gpu_matrix(const model::Machine& machine);
report::Table nic_matrix(const model::Machine& machine);  // NICs down, GPUs across: it is narrower
report::Fields matrix_legend(const model::Machine& machine);
report::Fields nvlink_summary(const model::Machine& machine);  // empty when no GPU has links
report::Table distance_table(const model::Machine& machine);   // no rows when not known

// "NV18", "XG4" for GPUs of AMD, "?".
std::string cell_text(const model::Machine& machine, const model::Path& path);

}  // namespace angio::views
