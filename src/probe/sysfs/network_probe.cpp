#include "probe/sysfs/network_probe.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "probe/names.hpp"
#include "probe/place.hpp"
#include "probe/sysfs/locality.hpp"
#include "probe/sysfs/netdev.hpp"
#include "probe/sysfs/rdma_port.hpp"

namespace angio::probe {
namespace {

constexpr const char* kRdma = "/sys/class/infiniband";

// The interfaces that were found, as RDMA devices look for them.
struct Interfaces {
  std::multimap<PciAddress, std::string> by_address;
  std::set<std::string> bonds;
};

Interfaces interfaces_of(const model::Machine& machine) {
  Interfaces interfaces;
  for (const model::NetDevice& net : machine.networks) {
    if (net.kind.is("bond")) interfaces.bonds.insert(net.name);
    if (const PciAddress* address = net.address.get()) interfaces.by_address.emplace(*address, net.name);
  }
  return interfaces;
}

// Those of the PCI device, those of the GIDs (a bond sits on no device), soft-RoCE's parent.
std::vector<std::string> netdevs_of(const Place& place, const Interfaces& interfaces,
                                    const model::RdmaDevice& device) {
  std::vector<std::string> names = place.names("device/net").value_or({});
  std::set<std::string> seen(names.begin(), names.end());
  const auto add = [&](const std::string& name) {
    if (!name.empty() && seen.insert(name).second) names.push_back(name);
  };
  if (const PciAddress* address = device.address.get()) {
    const auto [first, last] = interfaces.by_address.equal_range(*address);
    for (auto entry = first; entry != last; ++entry)
      add(entry->second);
  }
  for (const model::RdmaPort& port : device.ports) {
    for (const model::Gid& gid : port.gids)
      add(gid.netdev.value_or({}));
  }
  if (!device.address.is_known()) add(place.text("parent").value_or({}));
  return names;
}

// Named so by mlx5 ("mlx5_bond_0"); renamed devices show it by their interface.
bool is_bond(const std::set<std::string>& bonds, const model::RdmaDevice& device) {
  if (contains(device.name, "bond")) return true;
  return std::ranges::any_of(device.netdevs, [&](const std::string& name) { return bonds.contains(name); });
}

bool is_virtual_function(const Place& place, const model::Machine& machine, const model::RdmaDevice& device) {
  if (device.pci) return machine.pci.devices[*device.pci].physical_function.has_value();
  return place.root().exists(place.path("device/physfn"));
}

model::RdmaDevice read_rdma_device(const Place& place, model::Machine& machine, const Interfaces& interfaces,
                                   const std::string& name) {
  model::RdmaDevice device;
  device.name = name;
  device.address = address_of(place);
  if (const PciAddress* address = device.address.get()) device.pci = machine.pci.find(*address);
  device.firmware = place.text("fw_ver");
  device.board_id = place.text("board_id");
  device.hca_type = place.text("hca_type");
  device.node_guid = place.text("node_guid");
  device.node_type = place.parsed("node_type", parse_numbered_word);
  device.numa = device.pci ? numa_of(machine, device.pci) : own_numa(place, "device/numa_node");
  const Observed<host::Names> ports = place.names("ports");
  for (const std::uint32_t number : numbers_of(ports.value_or({}))) {
    device.ports.push_back(read_rdma_port(place, machine, name, number));
  }
  device.netdevs = netdevs_of(place, interfaces, device);
  device.bond = is_bond(interfaces.bonds, device);
  device.virtual_function = is_virtual_function(place, machine, device);
  return device;
}

}  // namespace

void probe_network(const host::Root& root, model::Machine& machine) {
  machine.networks = read_net_devices(root, machine);
  const host::Read<host::Names> names = root.list(kRdma);
  if (!names) return;
  const Interfaces interfaces = interfaces_of(machine);
  for (const std::string& name : *names) {
    const Place place(root, machine, std::string(kRdma) + "/" + name);
    machine.rdma.push_back(read_rdma_device(place, machine, interfaces, name));
  }
}

}  // namespace angio::probe
