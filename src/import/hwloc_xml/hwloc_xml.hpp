// hwloc's XML (lstopo --of xml), versions 1 to 3, to CPUs, caches, NUMA nodes, the PCI tree, GPUs, RDMA
// devices and network interfaces. hwloc knows a link's bandwidth, not its speed and lanes: they stay unknown.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "import/draft.hpp"

namespace angio::import::hwloc_xml {

Result<model::Machine> import_topology(std::string_view text, Draft draft);

}  // namespace angio::import::hwloc_xml
