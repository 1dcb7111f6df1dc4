#include "model/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "model/machine.hpp"

namespace angio::model {
namespace {

Path unknown(std::string why) {
  return {PathClass::kUnknown, 0, std::move(why)};
}

struct Ends {
  const Machine& machine;
  DeviceRef a;
  DeviceRef b;
};

std::string name_of(const Machine& machine, DeviceRef device) {
  switch (device.kind) {
    case DeviceKind::kGpu:
      return fmt::format("GPU {}", device.index);
    case DeviceKind::kRdma:
      return machine.rdma[device.index].name;
    case DeviceKind::kNetwork:
      return machine.networks[device.index].name;
  }
  return "device";
}

bool exists(const Machine& machine, DeviceRef device) {
  switch (device.kind) {
    case DeviceKind::kGpu:
      return device.index < machine.gpus.size();
    case DeviceKind::kRdma:
      return device.index < machine.rdma.size();
    case DeviceKind::kNetwork:
      return device.index < machine.networks.size();
  }
  return false;
}

std::optional<std::uint32_t> pci_of(const Machine& machine, DeviceRef device) {
  std::optional<std::uint32_t> index;
  switch (device.kind) {
    case DeviceKind::kGpu:
      index = machine.gpus[device.index].pci;
      break;
    case DeviceKind::kRdma:
      index = machine.rdma[device.index].pci;
      break;
    case DeviceKind::kNetwork:
      index = machine.networks[device.index].pci;
      break;
  }
  if (index && *index >= machine.pci.devices.size()) return std::nullopt;
  return index;
}

const Observed<NumaId>& own_numa(const Machine& machine, DeviceRef device) {
  switch (device.kind) {
    case DeviceKind::kRdma:
      return machine.rdma[device.index].numa;
    case DeviceKind::kNetwork:
      return machine.networks[device.index].numa;
    case DeviceKind::kGpu:
      break;
  }
  return machine.gpus[device.index].numa;
}

// The only node that has CPUs, if there is exactly one: then every device is nearest to it.
std::optional<NumaId> only_node(const Machine& machine) {
  std::optional<NumaId> only;
  for (const NumaNode& node : machine.numa.nodes) {
    if (node.cpus.empty()) continue;
    if (only) return std::nullopt;
    only = node.id;
  }
  return only;
}

std::optional<Path> stated_path(const Machine& machine, DeviceRef a, DeviceRef b) {
  if (!machine.stated_paths) return std::nullopt;
  const StatedPaths& stated = *machine.stated_paths;
  const auto row = std::ranges::find(stated.devices, a);
  const auto column = std::ranges::find(stated.devices, b);
  if (row == stated.devices.end() || column == stated.devices.end()) return std::nullopt;
  const auto cell = static_cast<std::size_t>(row - stated.devices.begin()) * stated.devices.size() +
                    static_cast<std::size_t>(column - stated.devices.begin());
  if (cell >= stated.cells.size()) return std::nullopt;
  return stated.cells[cell];
}

// A matrix that calls two devices NODE or nearer puts both on one NUMA node.
std::optional<NumaId> node_by_matrix(const Machine& machine, DeviceRef device) {
  if (!machine.stated_paths) return std::nullopt;
  for (const DeviceRef other : machine.stated_paths->devices) {
    if (!exists(machine, other)) continue;
    const NumaId* node = own_numa(machine, other).get();
    if (node == nullptr) continue;
    const auto path = stated_path(machine, device, other);
    if (path && path->kind >= PathClass::kPix && path->kind <= PathClass::kNode) return *node;
  }
  return std::nullopt;
}

std::optional<NumaId> numa_of(const Machine& machine, DeviceRef device) {
  if (const NumaId* node = own_numa(machine, device).get()) return *node;
  if (const auto node = node_by_matrix(machine, device)) return node;
  if (const auto pci = pci_of(machine, device)) {
    for (const std::uint32_t above : chain_of(machine.pci, *pci)) {
      if (const NumaId* node = machine.pci.devices[above].numa.get()) return *node;
    }
  }
  return only_node(machine);
}

// Bridges as nvidia-smi counts them: a switch is one, though it shows an upstream port and a downstream
// port for each of its devices. positions [1, end) of chain are the bridges asked about.
std::size_t count_bridges(const Pci& pci, const std::vector<std::uint32_t>& chain, std::size_t end) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < end; ++i) {
    const PciPort port = port_role(pci, chain[i]);
    count += port == PciPort::kSwitchUpstream || port == PciPort::kOther ? 1 : 0;
  }
  return count;
}

// Both below one bridge: near when at most one switch lies between them.
std::optional<Path> path_below_bridge(const Pci& pci, std::uint32_t a, std::uint32_t b) {
  const std::vector<std::uint32_t> up_a = chain_of(pci, a);
  const std::vector<std::uint32_t> up_b = chain_of(pci, b);
  for (std::size_t i = 1; i < up_a.size(); ++i) {
    const auto common = std::find(up_b.begin() + 1, up_b.end(), up_a[i]);
    if (common == up_b.end()) continue;
    const auto j = static_cast<std::size_t>(common - up_b.begin());
    std::size_t bridges = count_bridges(pci, up_a, i) + count_bridges(pci, up_b, j);
    const PciPort shared = port_role(pci, up_a[i]);
    if (shared == PciPort::kSwitchUpstream || shared == PciPort::kOther) ++bridges;
    return Path{bridges <= 1 ? PathClass::kPix : PathClass::kPxb, 0, {}};
  }
  return std::nullopt;
}

bool same_slot(const PciAddress& a, const PciAddress& b) {
  return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

Path path_by_numa(const Ends& ends) {
  const std::optional<NumaId> node_a = numa_of(ends.machine, ends.a);
  const std::optional<NumaId> node_b = numa_of(ends.machine, ends.b);
  for (const auto& [node, device] : {std::pair{node_a, ends.a}, std::pair{node_b, ends.b}}) {
    if (!node) return unknown(fmt::format("the NUMA node of {} is not known", name_of(ends.machine, device)));
  }
  return {*node_a == *node_b ? PathClass::kNode : PathClass::kSys, 0, {}};
}

Path path_by_pci(const Ends& ends) {
  const auto pci_a = pci_of(ends.machine, ends.a);
  const auto pci_b = pci_of(ends.machine, ends.b);
  for (const auto& [pci, device] : {std::pair{pci_a, ends.a}, std::pair{pci_b, ends.b}}) {
    if (!pci) return unknown(fmt::format("the PCI place of {} is not known", name_of(ends.machine, device)));
  }
  const PciDevice& a = ends.machine.pci.devices[*pci_a];
  const PciDevice& b = ends.machine.pci.devices[*pci_b];
  if (same_slot(a.address, b.address)) return {PathClass::kPix, 0, {}};
  if (auto near = path_below_bridge(ends.machine.pci, *pci_a, *pci_b)) return *near;
  if (a.root_complex.empty() || b.root_complex.empty()) {
    Path far = path_by_numa(ends);
    // Different nodes cannot share a host bridge; on one node they may, and only the tree would say.
    if (far.kind == PathClass::kSys) return far;
    return unknown("the source does not say which host bridges the devices hang off");
  }
  if (a.root_complex == b.root_complex) return {PathClass::kPhb, 0, {}};
  return path_by_numa(ends);
}

struct NvLinks {
  std::uint32_t to_peer = 0;
  std::uint32_t to_switch = 0;
  std::uint32_t to_unknown = 0;  // active, but where they end is not known
};

NvLinks links_of(const Gpu& gpu, const Gpu& peer) {
  NvLinks count;
  for (const GpuLink& link : gpu.links) {
    if (link.state != LinkState::kActive) continue;
    const PciAddress* address = link.peer.get();
    if (link.peer_kind == PeerKind::kSwitch) {
      ++count.to_switch;
    } else if (address != nullptr) {
      const PciAddress* theirs = peer.address.get();
      if (theirs != nullptr && *address == *theirs) ++count.to_peer;
    } else if (link.peer_kind != PeerKind::kCpu) {
      ++count.to_unknown;
    }
  }
  return count;
}

std::optional<Path> path_by_nvlink(const Gpu& a, const Gpu& b) {
  const NvLinks from_a = links_of(a, b);
  const NvLinks from_b = links_of(b, a);
  // One end's view is enough: the other may not have been readable.
  if (const std::uint32_t direct = std::max(from_a.to_peer, from_b.to_peer); direct > 0) {
    return Path{PathClass::kNvLink, direct, {}};
  }
  if (const std::uint32_t through = std::min(from_a.to_switch, from_b.to_switch); through > 0) {
    return Path{PathClass::kNvLink, through, {}};
  }
  if (from_a.to_unknown > 0 && from_b.to_unknown > 0) {
    return unknown("both have active NVLinks, but the source does not say where they end");
  }
  const PciAddress* address = b.address.get();
  const auto joined = address != nullptr ? std::ranges::find(a.linked, *address) : a.linked.end();
  if (joined != a.linked.end()) {
    const auto place = static_cast<std::size_t>(joined - a.linked.begin());
    const std::uint32_t count = place < a.linked_counts.size() ? a.linked_counts[place] : 0;
    if (count > 0) return Path{PathClass::kNvLink, count, {}};
    return unknown("NVLink or xGMI joins them, but the source does not say by how many links");
  }
  return std::nullopt;
}

bool tells_of_links(const Gpu& gpu) {
  return !gpu.links.empty() || !gpu.linked.empty() || !gpu.p2p.empty() || gpu.library_index.is_known();
}

// NVLinks are seen through NVML only. Where a collection did not see these GPUs through it, or a file of
// another tool speaks of their PCI side alone, a PCIe path would be a guess: boards of eight have NVLink.
bool nvlinks_never_read(const Machine& machine, const Gpu& a, const Gpu& b) {
  if (a.vendor != GpuVendor::kNvidia || b.vendor != GpuVendor::kNvidia) return false;
  if (tells_of_links(a) || tells_of_links(b)) return false;
  const Observed<std::string>& nvml = machine.software.nvml_error;
  const bool collected = !nvml.is_unreadable() || nvml.reason() != Reason::kNotCollected;
  return collected || a.address.source().line > 0;  // foreign files have lines
}

}  // namespace

std::string label(const Path& path) {
  switch (path.kind) {
    case PathClass::kSelf:
      return "X";
    case PathClass::kNvLink:
      return fmt::format("NV{}", path.links);
    case PathClass::kC2c:
      return "C2C";
    case PathClass::kPix:
      return "PIX";
    case PathClass::kPxb:
      return "PXB";
    case PathClass::kPhb:
      return "PHB";
    case PathClass::kNode:
      return "NODE";
    case PathClass::kSys:
      return "SYS";
    case PathClass::kUnknown:
      break;
  }
  return "?";
}

std::string_view path_class_meaning(PathClass kind) {
  switch (kind) {
    case PathClass::kSelf:
      return "the device itself";
    case PathClass::kNvLink:
      return "that many active NVLinks, direct or through NVSwitch";
    case PathClass::kC2c:
      return "the coherent chip-to-chip link between a GPU and its CPU (NVLink-C2C)";
    case PathClass::kPix:
      return "one PCIe switch or bridge at most";
    case PathClass::kPxb:
      return "several PCIe switches, without crossing the host bridge of a CPU";
    case PathClass::kPhb:
      return "through the PCIe host bridge of a CPU";
    case PathClass::kNode:
      return "between two PCIe host bridges of one NUMA node";
    case PathClass::kSys:
      return "between two NUMA nodes, over the interconnect of the CPUs";
    case PathClass::kUnknown:
      break;
  }
  return "not known from this source";
}

Path path_between(const Machine& machine, DeviceRef a, DeviceRef b) {
  if (!exists(machine, a) || !exists(machine, b)) return unknown("no such device");
  if (a == b) return {PathClass::kSelf, 0, {}};
  if (const auto stated = stated_path(machine, a, b); stated && stated->kind != PathClass::kUnknown) {
    return *stated;
  }
  if (a.kind == DeviceKind::kGpu && b.kind == DeviceKind::kGpu) {
    const Gpu& gpu = machine.gpus[a.index];
    const Gpu& peer = machine.gpus[b.index];
    if (auto nvlink = path_by_nvlink(gpu, peer)) return *nvlink;
    if (nvlinks_never_read(machine, gpu, peer)) return unknown("whether NVLinks join them was not read");
  }
  return path_by_pci({machine, a, b});
}

Path path_to_cpu(const Machine& machine, std::uint32_t gpu_index) {
  if (gpu_index >= machine.gpus.size()) return unknown("no such device");
  const Gpu& gpu = machine.gpus[gpu_index];
  if (gpu.coherent_link.is(true)) return {PathClass::kC2c, 0, {}};
  const auto links = std::ranges::count_if(gpu.links, [](const GpuLink& link) {
    return link.state == LinkState::kActive && link.peer_kind == PeerKind::kCpu;
  });
  if (links > 0) return {PathClass::kNvLink, static_cast<std::uint32_t>(links), {}};
  if (gpu.pci || gpu.address.is_known()) return {PathClass::kPhb, 0, {}};
  return unknown("the source does not say how this GPU reaches its CPU");
}

std::optional<NumaId> nearest_node(const Machine& machine, DeviceRef device) {
  return exists(machine, device) ? numa_of(machine, device) : std::nullopt;
}

bool has_paths(const Machine& machine) {
  if (machine.stated_paths && !machine.stated_paths->devices.empty()) return true;
  const auto placed = [](const auto& device) { return device.pci.has_value(); };
  return std::ranges::any_of(machine.gpus, placed) || std::ranges::any_of(machine.rdma, placed);
}

}  // namespace angio::model
