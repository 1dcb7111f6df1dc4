// Where a device sits: its PCI address from sysfs links, its NUMA node from the PCI tree.
// Used for GPUs, RDMA devices and network interfaces alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.hpp"
#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe {

// The node of a PCI device: its own, else that of the nearest bridge above which knows one (the source then
// names the bridge), else its own answer. Not collected without a device.
Observed<NumaId> numa_of(const model::Machine& machine, std::optional<std::uint32_t> pci);

// A numa_node file: -1 is "the kernel does not know", absent.
Observed<NumaId> own_numa(const Place& place, const char* leaf);

// The last PCI address in a path: "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0" → 0000:00:03.0.
std::optional<PciAddress> last_pci_address(std::string_view path);

// The PCI device behind a class directory, by the link of the directory or its device/ link or device/uevent.
Observed<PciAddress> address_of(const Place& class_device);

}  // namespace angio::probe
