// A RoCE fabric as the hosts' own addresses show it: adapters, and the IP subnets that join them. No cable
// and no switch is seen that way, and none is claimed: a subnet stands where they are.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/fnv.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/subnet.hpp"
#include "fabric/fabric.hpp"

namespace angio::fabric {
namespace {

using model::FabricNode;
using model::FabricPort;

// Of devices and subnets by their names: the same from one capture to the next.
std::uint64_t number_of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.number();
}

model::PortState state_of(const model::RdmaPort& port) {
  const std::string* const state = port.state.get();
  if (state == nullptr) return model::PortState::kUnknown;
  if (*state == "ACTIVE") return model::PortState::kActive;
  if (*state == "INIT") return model::PortState::kInit;
  if (*state == "ARMED") return model::PortState::kArmed;
  return *state == "DOWN" ? model::PortState::kDown : model::PortState::kUnknown;
}

// The interfaces whose addresses are the port's: its own, those that its GIDs name (VLANs, macvlans), and the
// bond that any of them is in.
std::set<std::string> interfaces_of(const model::Machine& machine, const model::RdmaDevice& device,
                                    const model::RdmaPort& port) {
  std::set<std::string> names;
  if (device.ports.size() == 1) names.insert(device.netdevs.begin(), device.netdevs.end());
  for (const model::Gid& gid : port.gids)
    if (const std::string* name = gid.netdev.get()) names.insert(*name);
  for (const model::NetDevice& interface : machine.networks)
    if (const std::string* bond = interface.bond_master.get();
        bond != nullptr && names.contains(interface.name))
      names.insert(*bond);
  return names;
}

// "2001:db8:1:2:…/64" to "2001:db8:1:2::/64": of global addresses with the first four groups written out.
std::string ipv6_network(std::string_view text) {
  constexpr std::size_t kGroups = 4;
  const std::size_t slash = text.find('/');
  if (slash == text.npos || text.substr(slash) != "/64" || to_lower(text).starts_with("fe80")) return {};
  std::string network;
  std::size_t at = 0;
  for (std::size_t group = 0; group < kGroups; ++group) {
    const std::size_t end = text.find(':', at);
    if (end == text.npos || end == at || end > slash) return {};
    network += to_lower(text.substr(at, end - at)) + ":";
    at = end + 1;
  }
  return network + ":/64";
}

std::set<std::string> subnets_of(const model::Machine& machine, const std::set<std::string>& interfaces) {
  std::set<std::string> subnets;
  for (const model::NetDevice& interface : machine.networks) {
    if (!interfaces.contains(interface.name)) continue;
    for (const diagnose::Subnet& subnet : diagnose::subnets_of(interface))
      subnets.insert(subnet.text());
    for (const std::string& address : interface.addresses)
      if (std::string network = ipv6_network(address); !network.empty()) subnets.insert(std::move(network));
  }
  return subnets;
}

class Maker {
 public:
  void add(const model::Machine& machine) {
    for (const model::RdmaDevice& device : machine.rdma)
      for (const model::RdmaPort& port : device.ports)
        if (port.link_layer == model::LinkLayer::kEthernet)
          add(machine, device, port);
        else if (port.link_layer == model::LinkLayer::kInfiniBand)
          ++infiniband_;
  }

  model::Fabric finish(std::size_t machines, std::size_t older) && {
    fabric_.kind = model::FabricKind::kEthernet;
    fabric_.name = "RoCE as " + count_of(machines, "host") + " show it";
    fabric_.origin = "addresses of hosts; no cable and no switch is seen that way";
    if (older > 0)
      note("fabric.older-snapshot", count_of(older, "snapshot") + " of hosts that have a newer one",
           "the newest of each host counts");
    if (infiniband_ > 0)
      note("fabric.infiniband-ports",
           fmt::format("{} InfiniBand ports are left out: they are another fabric", infiniband_),
           "sudo angio fabric scan on one of the hosts reads it");
    if (without_ > 0)
      note("fabric.no-address",
           fmt::format("{} RoCE ports have no address of a subnet: what they reach is not known", without_),
           "ip addr on the host; a port without an IP address has only its link-local GID");
    return std::move(fabric_);
  }

 private:
  void note(std::string id, std::string text, std::string remedy) {
    fabric_.notes.push_back({std::move(id), std::move(text), 1, std::move(remedy)});
  }

  void add(const model::Machine& machine, const model::RdmaDevice& device, const model::RdmaPort& port) {
    FabricNode node;
    node.kind = model::FabricNodeKind::kAdapter;
    node.description = machine.name + " " + device.name;
    node.guid.value = number_of(node.description);  // RoCE has no subnet in which GUIDs must differ
    node.stated_ports = 1;
    FabricPort own;
    own.number = port.number;
    own.state = state_of(port);
    if (const BitsPerSecond* rate = port.rate.get()) own.stated_rate = *rate;
    const std::set<std::string> subnets = subnets_of(machine, interfaces_of(machine, device, port));
    // A port is in one place of the picture: in the first of its subnets.
    const auto adapter = static_cast<std::uint32_t>(fabric_.nodes.size());
    node.ports.push_back(std::move(own));
    fabric_.nodes.push_back(std::move(node));
    if (subnets.empty()) {
      ++without_;
      return;
    }
    join({adapter, 0}, *subnets.begin());
  }

  void join(model::PortRef port, const std::string& subnet) {
    const auto [found, fresh] =
        subnets_.try_emplace(subnet, static_cast<std::uint32_t>(fabric_.nodes.size()));
    if (fresh) {
      FabricNode node;
      node.kind = model::FabricNodeKind::kSubnet;
      node.description = "subnet " + subnet;
      node.guid.value = number_of(node.description);
      fabric_.nodes.push_back(std::move(node));
    }
    std::vector<FabricPort>& ports = fabric_.nodes[found->second].ports;
    FabricPort place;
    place.number = static_cast<std::uint32_t>(ports.size()) + 1;
    ports.push_back(std::move(place));
    model::connect(fabric_, port, {found->second, static_cast<std::uint32_t>(ports.size() - 1)});
  }

  model::Fabric fabric_;
  std::map<std::string, std::uint32_t> subnets_;
  std::size_t infiniband_ = 0;
  std::size_t without_ = 0;
};

}  // namespace

Result<model::Fabric> make_host_fabric(std::span<const model::Machine> machines) {
  std::map<std::string_view, const model::Machine*> newest;
  for (const model::Machine& machine : machines) {
    const auto [known, fresh] = newest.try_emplace(machine.name, &machine);
    if (!fresh && known->second->captured.value_or({}) <= machine.captured.value_or({}))
      known->second = &machine;
  }
  Maker maker;
  for (const model::Machine& machine : machines)
    if (newest.at(machine.name) == &machine) maker.add(machine);
  model::Fabric fabric = std::move(maker).finish(newest.size(), machines.size() - newest.size());
  if (fabric.nodes.empty())
    return fail(
        ErrorCode::kNotFound, "no RoCE port on any of these hosts",
        "InfiniBand is read by sudo angio fabric scan; plain Ethernet by lldpctl -f json on each host");
  return fabric;
}

}  // namespace angio::fabric
