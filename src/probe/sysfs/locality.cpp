#include "probe/sysfs/locality.hpp"

#include <vector>

namespace angio::probe {
namespace {

// Only the long form counts: "pci0000:00" and "virtio2" are no addresses, and neither is "03.0".
std::optional<PciAddress> full_address(std::string_view text) {
  if (text.size() < std::string_view("0000:00:00.0").size()) return std::nullopt;
  return parse_pci_address(text);
}

}  // namespace

Observed<NumaId> numa_of(const model::Machine& machine, std::optional<std::uint32_t> pci) {
  const std::vector<model::PciDevice>& devices = machine.pci.devices;
  if (!pci || *pci >= devices.size()) return {};
  constexpr int kDeepest = 256;  // one bus number a level; also ends the walk in a broken tree
  std::optional<std::uint32_t> at = pci;
  for (int level = 0; at && *at < devices.size() && level < kDeepest; ++level) {
    if (devices[*at].numa.is_known()) return devices[*at].numa;
    at = devices[*at].parent;
  }
  return devices[*pci].numa;
}

Observed<NumaId> own_numa(const Place& place, const char* leaf) {
  const Observed<std::int32_t> node = place.integer<std::int32_t>(leaf);
  const bool unknown = node.is_known() && *node.get() < 0;
  if (unknown || node.is_absent()) return Observed<NumaId>::absent(node.source());
  if (node.is_known())
    return Observed<NumaId>::known(NumaId{static_cast<std::uint32_t>(*node.get())}, node.source());
  return Observed<NumaId>::unreadable(node.reason(), node.source(), node.error());
}

std::optional<PciAddress> last_pci_address(std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string_view part = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (const auto address = full_address(part)) return address;
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
  }
  return std::nullopt;
}

Observed<PciAddress> address_of(const Place& class_device) {
  for (const char* leaf : {"", "device"}) {
    const host::Read<std::string> link = class_device.root().read_link(class_device.path(leaf));
    const std::optional<PciAddress> address = link ? last_pci_address(*link) : std::nullopt;
    if (address) return Observed<PciAddress>::known(*address, class_device.source(leaf));
  }
  const host::Read<std::string> uevent = class_device.root().read(class_device.path("device/uevent"));
  if (!uevent) return class_device.missing<PciAddress>("device/uevent", uevent.error());
  for (const std::string_view line : split_lines(*uevent)) {
    constexpr std::string_view kKey = "PCI_SLOT_NAME=";
    if (!line.starts_with(kKey)) continue;
    const std::optional<PciAddress> address = full_address(trim(line.substr(kKey.size())));
    if (address) return Observed<PciAddress>::known(*address, class_device.source("device/uevent"));
  }
  return Observed<PciAddress>::absent(class_device.source("device/uevent"));
}

}  // namespace angio::probe
