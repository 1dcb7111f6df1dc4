// The settings by which NCCL's own NET/IB chooses among adapters. On phantom nodes a stand-in takes its
// place, and adapters that NET/IB would not take are not there. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dryrun/node_design.hpp"

namespace angio::dryrun {

using Settings = std::vector<std::pair<std::string, std::string>>;

// Takes out what NCCL_IB_HCA leaves out, and says so in the design's notes.
void take_adapters(const Settings& settings, NodeDesign& design);

// NCCL_IB_DISABLE=1 or NCCL_NET=Socket: the job wants sockets.
bool wants_sockets(const Settings& settings);

}  // namespace angio::dryrun
