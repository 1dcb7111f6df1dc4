// The NICs of a phantom node: from <net> where the topology has any, else from its network devices by PCI
// address, with a speed that their PCIe link can carry. For node_design.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "dryrun/design_scan.hpp"
#include "phantom/hardware.hpp"

namespace angio::dryrun {

struct DesignedNet {
  phantom::Net net;
  std::string bus;       // as the file writes it; empty: hangs off a CPU
  bool in_file = false;  // it has a <net>
};

// In the order of the plugin's device numbers. node: GUIDs of node 0 are those of the file.
Result<std::vector<DesignedNet>> design_nets(const Scan& scan, std::uint32_t node,
                                             std::vector<std::string>& notes);

// Writes NICs that the tree has no <net> for, and brings speed and GUID of the others in line: NCCL believes
// the file, not the plugin.
void add_to_tree(const std::vector<DesignedNet>& nets, nccl::Element& root);

}  // namespace angio::dryrun
