// NCCL's and RCCL's topology XML (<system>) to NUMA nodes, PCI devices, GPUs with their links, and network
// devices. A NCCL bridge is a whole switch: its dump leaves downstream and root ports out.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "import/draft.hpp"

namespace angio::import::nccl_topology {

Result<model::Machine> import_topology(std::string_view text, Draft draft);

// <graphs> holds search results, not a machine.
std::unexpected<Error> refuse_graph(const std::string& name);

}  // namespace angio::import::nccl_topology
