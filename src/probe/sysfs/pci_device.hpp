// One PCI device from its sysfs directory: identity for all, everything else only for devices whose
// answer can matter (bridges, GPUs, accelerators, network, NVMe, NVSwitch), to keep collect short.
#pragma once

#include <string_view>

#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe {

// Class, ids and driver from uevent (or the single files), and the NUMA node.
void read_identity(const Place& place, model::PciDevice& device);

// Bridges and the devices that move data for a cluster.
bool is_of_interest(const model::PciDevice& device);

// Links, BARs, AER, SR-IOV and what the given configuration space holds.
void read_details(const Place& place, const Observed<std::string>& config, model::PciDevice& device);

// "16.0 GT/s PCIe", "8 GT/s"; none for "Unknown" and anything else.
std::optional<TransfersPerSecond> parse_link_speed(std::string_view text);
// The six BARs of a sysfs "resource" file; none when no line makes sense. 0: no memory BAR.
std::optional<Bytes> parse_largest_bar(std::string_view text);

}  // namespace angio::probe
