// Who is above whom on PCI: from the paths that sysfs links to, or from bus numbers where a captured
// tree has no links. Results are free of cycles, whatever the input says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/pci.hpp"
#include "probe/sysfs/pci_config.hpp"

namespace angio::probe {

struct PciPathPosition {
  std::string root_complex;          // "pci0000:15"; of the outermost host bridge (VMD sits inside one)
  std::optional<PciAddress> parent;  // the nearest PCI device above
};
// "../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0"; none without a "pciDDDD:BB" part.
std::optional<PciPathPosition> parse_device_path(std::string_view link);

struct PciTreeInput {
  std::optional<PciPathPosition> path;  // from the link
  std::optional<BridgeBuses> buses;     // from configuration space; only needed without a link
};

// input[i] belongs to pci.devices[i] (sorted). Sets parent and root_complex.
void build_pci_tree(const std::vector<PciTreeInput>& input, model::Pci& pci);

}  // namespace angio::probe
