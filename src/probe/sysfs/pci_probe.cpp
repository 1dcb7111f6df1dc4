#include "probe/sysfs/pci_probe.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "probe/place.hpp"
#include "probe/sysfs/cpu_sets.hpp"
#include "probe/sysfs/iommu.hpp"
#include "probe/sysfs/pci_config.hpp"
#include "probe/sysfs/pci_device.hpp"
#include "probe/sysfs/pci_tree.hpp"

namespace angio::probe {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices";

// Configuration space is bytes: not trimmed like text.
Observed<std::string> read_config(const Place& place) {
  host::Read<std::string> bytes = place.root().read(place.path("config"));
  if (!bytes) return place.missing<std::string>("config", bytes.error());
  return Observed<std::string>::known(std::move(*bytes), place.source("config"));
}

void read_device(const Place& place, model::PciDevice& device, PciTreeInput& position) {
  read_identity(place, device);
  const host::Read<std::string> link = place.root().read_link(place.directory());
  if (link) position.path = parse_device_path(*link);
  if (!is_of_interest(device)) return;
  const Observed<std::string> config = read_config(place);
  if (!position.path && config.is_known()) position.buses = PciConfig(*config.get()).bridge_buses();
  read_details(place, config, device);
}

std::vector<PciAddress> sorted_addresses(const host::Names& names) {
  std::vector<PciAddress> addresses;
  for (const std::string& name : names) {
    if (const auto address = parse_pci_address(name)) addresses.push_back(*address);
  }
  std::ranges::sort(addresses);
  addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
  return addresses;
}

// "0000:5e:00" in /sys/bus/pci/slots/3/address: all functions of the device in slot 3.
std::map<PciAddress, std::string> read_slots(const Place& slots, const host::Names& names) {
  std::map<PciAddress, std::string> by_device;
  for (const std::string& name : names) {
    const auto text = slots.root().read(slots.path(name) + "/address");
    const auto address = text ? parse_pci_address(std::string(trim(*text)) + ".0") : std::nullopt;
    if (address) by_device.emplace(*address, printable(name));
  }
  return by_device;
}

void name_slots(const host::Root& root, model::Machine& machine) {
  const Place place(root, machine, "/sys/bus/pci/slots");
  const Observed<host::Names> names = place.names("");
  const auto by_device = read_slots(place, names.value_or({}));
  for (model::PciDevice& device : machine.pci.devices) {
    PciAddress address = device.address;
    address.function = 0;
    const auto slot = by_device.find(address);
    if (slot != by_device.end())
      device.slot = Observed<std::string>::known(slot->second, place.source("*/address"));
    else if (names.is_unreadable()) {
      device.slot = Observed<std::string>::unreadable(names.reason(), names.source(), names.error());
    } else {
      device.slot = Observed<std::string>::absent(place.source("*/address"));
    }
  }
}

// One device of each root bus answers for the CPUs near its host bridge.
void read_local_cpus_of_roots(const host::Root& root, model::Machine& machine) {
  std::set<std::string_view> answered;
  for (model::PciDevice& device : machine.pci.devices) {
    if (device.parent || !answered.insert(device.root_complex).second || device.local_cpus.is_known())
      continue;
    const Place place(root, machine, std::string(kDevices) + "/" + to_string(device.address));
    device.local_cpus = observe_cpu_set(place, "local_cpulist", "local_cpus");
  }
}

}  // namespace

void probe_pci(const host::Root& root, model::Machine& machine) {
  const Place directory(root, machine, kDevices);
  const std::vector<PciAddress> addresses = sorted_addresses(directory.names("").value_or({}));
  std::vector<PciTreeInput> positions(addresses.size());
  machine.pci.devices.resize(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    model::PciDevice& device = machine.pci.devices[i];
    device.address = addresses[i];
    const Place place(root, machine, directory.path(to_string(addresses[i])));
    read_device(place, device, positions[i]);
  }
  build_pci_tree(positions, machine.pci);
  read_local_cpus_of_roots(root, machine);
  if (!addresses.empty()) name_slots(root, machine);
  machine.pci.iommu = read_iommu(root, machine);
}

}  // namespace angio::probe
