#include "views/topology_outline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace angio::views {
namespace {

using model::DeviceKind;
using model::DeviceRef;
using model::Machine;
using model::PciPort;

// PCI Code and ID Assignment: 01 mass storage; 0108 NVMe is what feeds training.
constexpr std::uint32_t kNvmeClass = 0x0108;
constexpr std::uint32_t kNetworkClass = 0x02;  // network controller

bool is_hidden_function(const Machine& machine, std::uint32_t pci) {
  const auto& physical = machine.pci.devices[pci].physical_function;
  return physical && machine.pci.find(*physical).has_value();
}

std::optional<std::uint32_t> valid(const Machine& machine, std::optional<std::uint32_t> pci) {
  return pci && *pci < machine.pci.devices.size() ? pci : std::nullopt;
}

// NICs by their PCI function, so that mlx5_0 and its network interface are one device.
void add_nics(const Machine& machine, std::vector<Leaf>& leaves) {
  std::map<std::uint32_t, Leaf> by_pci;
  std::vector<Leaf> others;
  const auto leaf_of = [&](std::optional<std::uint32_t> pci) -> Leaf& {
    Leaf& leaf = pci ? by_pci[*pci] : others.emplace_back();
    leaf.kind = LeafKind::kNic;
    leaf.pci = pci;
    return leaf;
  };
  for (std::uint32_t i = 0; i < machine.rdma.size(); ++i) {
    leaf_of(valid(machine, machine.rdma[i].pci)).rdma.push_back(i);
  }
  for (std::uint32_t i = 0; i < machine.networks.size(); ++i) {
    const auto pci = valid(machine, machine.networks[i].pci);
    const bool stated = machine.stated_paths && std::ranges::find(machine.stated_paths->devices,
                                                                  DeviceRef{DeviceKind::kNetwork, i}) !=
                                                    machine.stated_paths->devices.end();
    if (pci || stated) leaf_of(pci).networks.push_back(i);
  }
  for (std::uint32_t i = 0; i < machine.pci.devices.size(); ++i) {
    if (model::base_class(machine.pci.devices[i]) == kNetworkClass && !by_pci.contains(i)) leaf_of(i);
  }
  for (auto& [pci, leaf] : by_pci) {
    if (!is_hidden_function(machine, pci)) leaves.push_back(std::move(leaf));
  }
  leaves.insert(leaves.end(), others.begin(), others.end());
}

std::vector<Leaf> find_leaves(const Machine& machine) {
  std::vector<Leaf> leaves;
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    leaves.push_back({LeafKind::kGpu, i, {}, {}, valid(machine, machine.gpus[i].pci)});
  }
  add_nics(machine, leaves);
  for (std::uint32_t i = 0; i < machine.pci.devices.size(); ++i) {
    if ((machine.pci.devices[i].class_code >> 8U) == kNvmeClass && !is_hidden_function(machine, i)) {
      leaves.push_back({LeafKind::kStorage, {}, {}, {}, i});
    }
  }
  return leaves;
}

std::optional<DeviceRef> ref_of(const Leaf& leaf) {
  if (leaf.gpu) return DeviceRef{DeviceKind::kGpu, *leaf.gpu};
  if (!leaf.rdma.empty()) return DeviceRef{DeviceKind::kRdma, leaf.rdma.front()};
  if (!leaf.networks.empty()) return DeviceRef{DeviceKind::kNetwork, leaf.networks.front()};
  return std::nullopt;
}

std::optional<NumaId> node_of(const Machine& machine, const Leaf& leaf) {
  if (const auto ref = ref_of(leaf)) return model::nearest_node(machine, *ref);
  for (const std::uint32_t above : model::chain_of(machine.pci, *leaf.pci)) {
    if (const NumaId* node = machine.pci.devices[above].numa.get()) return *node;
  }
  if (machine.numa.nodes.size() == 1) return machine.numa.nodes.front().id;
  return std::nullopt;
}

// The full tree of bridges above the leaves, before it is thinned out.
struct RawBridge {
  std::map<std::uint32_t, RawBridge> bridges;  // by PCI index, which is by address
  std::vector<Leaf> leaves;
};

// Ports dissolve; a switch stays when it holds several things.
void thin_out(const Machine& machine, const RawBridge& raw, Bridge& into) {
  for (const auto& [pci, below] : raw.bridges) {
    Bridge inside;
    thin_out(machine, below, inside);
    const PciPort role = model::port_role(machine.pci, pci);
    const bool port = role == PciPort::kRootPort || role == PciPort::kSwitchDownstream;
    if (inside.size() > 1 && (!port || below.bridges.size() > 1)) {
      inside.kind = BridgeKind::kSwitch;
      inside.pci = pci;
      inside.name = to_string(machine.pci.devices[pci].address);
      into.bridges.push_back(std::move(inside));
      continue;
    }
    std::ranges::move(inside.bridges, std::back_inserter(into.bridges));
    std::ranges::move(inside.leaves, std::back_inserter(into.leaves));
  }
  into.leaves.insert(into.leaves.end(), raw.leaves.begin(), raw.leaves.end());
  std::ranges::stable_sort(into.leaves, {}, &Leaf::kind);
}

void add_pci_tree(const Machine& machine, const std::vector<Leaf>& leaves, NodeGroup& node) {
  std::map<std::string, RawBridge> host_bridges;
  for (const Leaf& leaf : leaves) {
    const std::vector<std::uint32_t> chain = model::chain_of(machine.pci, *leaf.pci);
    RawBridge* at = &host_bridges[machine.pci.devices[*leaf.pci].root_complex];
    for (std::size_t i = chain.size(); i-- > 1;)
      at = &at->bridges[chain[i]];
    at->leaves.push_back(leaf);
  }
  for (const auto& [name, raw] : host_bridges) {
    Bridge bridge;
    bridge.name = name;
    thin_out(machine, raw, bridge);
    if (name.empty()) {
      std::ranges::move(bridge.bridges, std::back_inserter(node.bridges));
      std::ranges::move(bridge.leaves, std::back_inserter(node.leaves));
    } else {
      node.bridges.push_back(std::move(bridge));
    }
  }
}

// Without a PCI tree a stated matrix still says which devices share a switch.
void add_stated_groups(const Machine& machine, const std::vector<Leaf>& leaves, NodeGroup& node) {
  std::vector<std::size_t> group(leaves.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (std::size_t i = 0; machine.stated_paths && i < leaves.size(); ++i) {
    for (std::size_t j = i + 1; j < leaves.size(); ++j) {
      const auto a = ref_of(leaves[i]);
      const auto b = ref_of(leaves[j]);
      if (!a || !b || group[i] == group[j]) continue;
      if (model::path_between(machine, *a, *b).kind != model::PathClass::kPix) continue;
      std::ranges::replace(group, std::size_t{group[j]}, std::size_t{group[i]});
    }
  }
  std::map<std::size_t, std::vector<Leaf>> members;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    members[group[i]].push_back(leaves[i]);
  for (auto& [first, some] : members) {
    if (some.size() == 1) {
      node.leaves.push_back(std::move(some.front()));
      continue;
    }
    Bridge bridge;
    bridge.kind = BridgeKind::kStated;
    bridge.name = "one bridge (PIX)";
    bridge.leaves = std::move(some);
    std::ranges::stable_sort(bridge.leaves, {}, &Leaf::kind);
    node.bridges.push_back(std::move(bridge));
  }
  std::ranges::stable_sort(node.leaves, {}, &Leaf::kind);
}

std::vector<NodeGroup> make_nodes(const Machine& machine) {
  std::vector<NodeGroup> groups;
  for (std::uint32_t i = 0; i < machine.numa.nodes.size(); ++i) {
    groups.push_back({machine.numa.nodes[i].id, i, {}, {}});
  }
  std::map<std::optional<NumaId>, std::pair<std::vector<Leaf>, std::vector<Leaf>>> placed;
  for (Leaf& leaf : find_leaves(machine)) {
    auto& [on_pci, elsewhere] = placed[node_of(machine, leaf)];
    (leaf.pci ? on_pci : elsewhere).push_back(std::move(leaf));
  }
  for (const auto& [id, leaves] : placed) {
    auto group = id ? std::ranges::find(groups, id, &NodeGroup::id) : groups.end();
    if (group == groups.end()) group = groups.insert(groups.end(), NodeGroup{id, {}, {}, {}});
    add_pci_tree(machine, leaves.first, *group);
    add_stated_groups(machine, leaves.second, *group);
  }
  return groups;
}

std::vector<std::uint32_t> packages_of(const Machine& machine, const CpuSet& cpus) {
  std::vector<std::uint32_t> packages;
  for (std::uint32_t i = 0; i < machine.cpus.packages.size(); ++i) {
    if (machine.cpus.packages[i].cpus.intersects(cpus)) packages.push_back(i);
  }
  return packages;
}

// A node without CPUs belongs beside the nearest node that has some, if distances say which.
std::vector<std::uint32_t> home_of(const Machine& machine, const NodeGroup& group) {
  if (!group.index) return {};
  const model::NumaNode& node = machine.numa.nodes[*group.index];
  if (!node.cpus.empty()) return packages_of(machine, node.cpus);
  const auto* distances = node.distances.get();
  const model::NumaNode* nearest = nullptr;
  std::uint32_t least = 0;
  for (std::size_t i = 0; distances != nullptr && i < std::min(distances->size(), machine.numa.nodes.size());
       ++i) {
    const model::NumaNode& other = machine.numa.nodes[i];
    if (other.cpus.empty() || (nearest != nullptr && (*distances)[i] >= least)) continue;
    nearest = &other;
    least = (*distances)[i];
  }
  return nearest != nullptr ? packages_of(machine, nearest->cpus) : std::vector<std::uint32_t>{};
}

}  // namespace

Outline make_outline(const Machine& machine) {
  Outline outline;
  for (NodeGroup& node : make_nodes(machine)) {
    const std::vector<std::uint32_t> home = home_of(machine, node);
    auto package = std::ranges::find(outline.packages, home, &PackageGroup::packages);
    if (package == outline.packages.end()) {
      package = outline.packages.insert(outline.packages.end(), PackageGroup{home, {}});
    }
    package->nodes.push_back(std::move(node));
  }
  std::set<std::uint32_t> shown;
  for (const PackageGroup& package : outline.packages)
    shown.insert(package.packages.begin(), package.packages.end());
  for (std::uint32_t i = 0; i < machine.cpus.packages.size(); ++i) {
    if (!shown.contains(i)) outline.packages.push_back({{i}, {}});
  }
  // Packages first, in order; what has no package last.
  std::ranges::stable_sort(outline.packages, [](const PackageGroup& a, const PackageGroup& b) {
    if (a.packages.empty() != b.packages.empty()) return b.packages.empty();
    return a.packages < b.packages;
  });
  return outline;
}

}  // namespace angio::views
