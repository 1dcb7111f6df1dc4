#include "views/topology_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/topology_words.hpp"

namespace angio::views {
namespace {

using model::Machine;
using report::Line;
using report::Span;
using report::Tone;
using Node = report::Tree::Node;

// More drives than this below one bridge become one line.
constexpr std::size_t kDrivesEach = 3;

void add(Line& line, std::string text, Tone tone = Tone::kPlain) {
  if (text.empty()) return;
  if (!line.empty()) line.push_back({"  ", Tone::kPlain});
  line.push_back({std::move(text), tone});
}

std::string address_of(const Machine& machine, const Leaf& leaf) {
  if (leaf.pci) return to_string(machine.pci.devices[*leaf.pci].address);
  const model::Observed<PciAddress>* address = nullptr;
  if (leaf.gpu) address = &machine.gpus[*leaf.gpu].address;
  if (!leaf.rdma.empty()) address = &machine.rdma[leaf.rdma.front()].address;
  return address != nullptr && address->is_known() ? to_string(*address->get()) : std::string();
}

void add_link(Line& line, const Machine& machine, const Leaf& leaf) {
  if (!leaf.pci) return;
  const LinkView link = view_link(machine, *leaf.pci);
  add(line, link.text, link.degraded() ? link.tone : Tone::kQuiet);
}

Line gpu_line(const Machine& machine, const Leaf& leaf) {
  const model::Gpu& gpu = machine.gpus[*leaf.gpu];
  Line line;
  add(line, fmt::format("GPU {}", *leaf.gpu), Tone::kStrong);
  add(line, address_of(machine, leaf), Tone::kQuiet);
  add(line, gpu.name.value_or({}));
  add_link(line, machine, leaf);
  const NvLinkCount links = count_nvlinks(machine, *leaf.gpu);
  if (links.fewer_than_alike) {
    add(line, fmt::format("{} {}s active, fewer than GPUs like it", links.active, link_family(machine)),
        Tone::kCritical);
  }
  if (gpu.coherent_link.is(true)) add(line, "NVLink-C2C to the CPU", Tone::kQuiet);
  if (const NumaId* node = gpu.memory_numa.get())
    add(line, fmt::format("memory is node {}", node->value), Tone::kQuiet);
  return line;
}

Line nic_line(const Machine& machine, const Leaf& leaf) {
  Line line;
  std::vector<std::string> names;
  for (const std::uint32_t rdma : leaf.rdma)
    names.push_back(machine.rdma[rdma].name);
  std::vector<std::string> interfaces;
  for (const std::uint32_t network : leaf.networks)
    interfaces.push_back(machine.networks[network].name);
  if (names.empty()) std::swap(names, interfaces);
  add(line, names.empty() ? std::string("NIC") : join(names, ", "), Tone::kStrong);
  if (!interfaces.empty()) line.push_back({" (" + join(interfaces, ", ") + ")", Tone::kPlain});
  add(line, address_of(machine, leaf), Tone::kQuiet);
  for (const std::uint32_t rdma : leaf.rdma) {
    const Span port = view_port(machine.rdma[rdma]);
    add(line, port.text, port.tone);
  }
  if (leaf.rdma.empty() && leaf.networks.empty()) add(line, pci_network_kind(machine, leaf));
  if (leaf.rdma.empty() && !leaf.networks.empty()) {
    const model::NetDevice& network = machine.networks[leaf.networks.front()];
    if (const BitsPerSecond* speed = network.speed.get()) add(line, angio::in_words(*speed), Tone::kQuiet);
    if (network.state.is_known() && *network.state.get() != "up")
      add(line, *network.state.get(), Tone::kQuiet);
  }
  add_link(line, machine, leaf);
  if (leaf.pci) {
    const auto* functions = machine.pci.devices[*leaf.pci].virtual_functions.get();
    if (functions != nullptr && *functions > 0)
      add(line, count_of(*functions, "virtual function"), Tone::kQuiet);
  }
  return line;
}

Line drive_line(const Machine& machine, const Leaf& leaf) {
  Line line;
  add(line, "NVMe");
  add(line, address_of(machine, leaf), Tone::kQuiet);
  add_link(line, machine, leaf);
  return line;
}

Line leaf_line(const Machine& machine, const Leaf& leaf) {
  if (leaf.kind == LeafKind::kGpu) return gpu_line(machine, leaf);
  return leaf.kind == LeafKind::kNic ? nic_line(machine, leaf) : drive_line(machine, leaf);
}

void add_leaves(const Machine& machine, const std::vector<Leaf>& leaves, std::vector<Node>& into) {
  std::vector<const Leaf*> alike;  // drives with nothing to say
  for (const Leaf& leaf : leaves) {
    const bool quiet = leaf.kind == LeafKind::kStorage && !view_link(machine, *leaf.pci).degraded();
    if (quiet) {
      alike.push_back(&leaf);
    } else {
      into.push_back({leaf_line(machine, leaf), {}});
    }
  }
  if (alike.size() <= kDrivesEach) {
    for (const Leaf* leaf : alike)
      into.push_back({drive_line(machine, *leaf), {}});
    return;
  }
  Line line;
  add(line, fmt::format("{} NVMe drives", alike.size()));
  add(line, fmt::format("{} to {}", address_of(machine, *alike.front()), address_of(machine, *alike.back())),
      Tone::kQuiet);
  into.push_back({line, {}});
}

Line bridge_line(const Machine& machine, const Bridge& bridge) {
  Line line;
  switch (bridge.kind) {
    case BridgeKind::kHostBridge:
      add(line, "host bridge " + bridge.name);
      break;
    case BridgeKind::kStated:
      add(line, "below one PCIe bridge (the source says PIX)");
      break;
    case BridgeKind::kSwitch:
      add(line, "switch " + bridge.name);
      break;
  }
  if (bridge.pci) {
    const LinkView link = view_link(machine, *bridge.pci);
    add(line, link.text, link.degraded() ? link.tone : Tone::kQuiet);
  }
  return line;
}

void add_bridges(const Machine& machine, const std::vector<Bridge>& bridges, std::vector<Node>& into) {
  for (const Bridge& bridge : bridges) {
    // A host bridge with one thing below it says nothing.
    if (bridge.kind == BridgeKind::kHostBridge && bridge.size() == 1) {
      add_bridges(machine, bridge.bridges, into);
      add_leaves(machine, bridge.leaves, into);
      continue;
    }
    Node node{bridge_line(machine, bridge), {}};
    add_bridges(machine, bridge.bridges, node.children);
    add_leaves(machine, bridge.leaves, node.children);
    into.push_back(std::move(node));
  }
}

std::string_view kind_words(model::NumaKind kind) {
  switch (kind) {
    case model::NumaKind::kOrdinary:
      return "";
    case model::NumaKind::kCpuOnly:
      return "CPUs without memory";
    case model::NumaKind::kMemoryOnly:
      return "memory without CPUs";
    case model::NumaKind::kGpuMemory:
      return "GPU memory";
    case model::NumaKind::kCxl:
      return "CXL memory";
    case model::NumaKind::kHighBandwidth:
      return "high-bandwidth memory";
    case model::NumaKind::kEmpty:
      return "empty";
  }
  return "";
}

bool is_empty(const Machine& machine, const NodeGroup& group) {
  return group.index && machine.numa.nodes[*group.index].kind == model::NumaKind::kEmpty &&
         group.bridges.empty() && group.leaves.empty();
}

Node numa_node(const Machine& machine, const NodeGroup& group) {
  Line line;
  add(line, node_title(group), group.id ? Tone::kStrong : Tone::kUnknown);
  add(line, node_words(machine, group), Tone::kQuiet);
  Node node{line, {}};
  add_bridges(machine, group.bridges, node.children);
  add_leaves(machine, group.leaves, node.children);
  return node;
}

void add_nodes(const Machine& machine, const std::vector<NodeGroup>& groups, std::vector<Node>& into) {
  std::vector<std::uint32_t> empty;
  for (const NodeGroup& group : groups) {
    if (is_empty(machine, group)) {
      empty.push_back(group.id->value);
    } else {
      into.push_back(numa_node(machine, group));
    }
  }
  if (empty.empty()) return;
  Line line;
  add(line, fmt::format("NUMA node{} {}", empty.size() == 1 ? "" : "s", number_ranges(empty)));
  add(line, "empty", Tone::kQuiet);
  into.push_back({line, {}});
}

// PCI network devices that are neither known as RDMA devices nor as network interfaces.
std::size_t bare_nics(const std::vector<Bridge>& bridges, const std::vector<Leaf>& leaves) {
  std::size_t count = 0;
  for (const Leaf& leaf : leaves)
    count += leaf.kind == LeafKind::kNic && leaf.rdma.empty() && leaf.networks.empty() ? 1 : 0;
  for (const Bridge& bridge : bridges)
    count += bare_nics(bridge.bridges, bridge.leaves);
  return count;
}

std::size_t bare_nics(const Outline& outline) {
  std::size_t count = 0;
  for (const PackageGroup& package : outline.packages) {
    for (const NodeGroup& node : package.nodes)
      count += bare_nics(node.bridges, node.leaves);
  }
  return count;
}

std::string cache_name(const model::Cache& cache) {
  const char* suffix = cache.kind == model::CacheKind::kData          ? "d"
                       : cache.kind == model::CacheKind::kInstruction ? "i"
                                                                      : "";
  return fmt::format("L{}{}", cache.level, suffix);
}

}  // namespace

std::string node_title(const NodeGroup& group) {
  return group.id ? fmt::format("NUMA node {}", group.id->value) : std::string("NUMA node not known");
}

std::vector<std::string> node_lines(const Machine& machine, const NodeGroup& group) {
  if (!group.index) return {};
  const model::NumaNode& node = machine.numa.nodes[*group.index];
  std::vector<std::string> words;
  if (const std::string_view kind = kind_words(node.kind); !kind.empty()) words.emplace_back(kind);
  if (const Bytes* memory = node.memory.get()) {
    if (memory->value > 0) words.push_back(angio::in_words(*memory));
    const Bytes* free = node.memory_free.get();
    if (free != nullptr && memory->value > 0) words.push_back(angio::in_words(*free) + " free");
  } else if (node.memory.is_unreadable()) {
    words.emplace_back("memory not known");
  }
  std::vector<std::string> lines;
  if (!words.empty()) lines.push_back(join(words, ", "));
  if (!node.cpus.empty()) lines.push_back("CPUs " + to_list(node.cpus));
  return lines;
}

std::string node_words(const Machine& machine, const NodeGroup& group) {
  return join(node_lines(machine, group), ", ");
}

std::string package_words(const Machine& machine, const PackageGroup& group) {
  std::vector<std::uint32_t> ids;
  CpuSet cpus;
  for (const std::uint32_t index : group.packages) {
    ids.push_back(machine.cpus.packages[index].id);
    cpus |= machine.cpus.packages[index].cpus;
  }
  if (ids.empty()) return "package not known";
  std::size_t cores = 0;
  for (const model::Core& core : machine.cpus.cores) {
    if (std::ranges::find(ids, core.package) == ids.end()) continue;
    ++cores;
    cpus |= core.cpus;
  }
  std::string words = fmt::format("package{} {}", ids.size() == 1 ? "" : "s", number_ranges(ids));
  if (cores > 0) words += ", " + count_of(cores, "core");
  if (!cpus.empty()) words += ", " + count_of(cpus.size(), "CPU");
  return words;
}

report::Tree topology_tree(const Machine& machine, const Outline& outline) {
  Node root;
  add(root.line, machine.name.empty() ? std::string("machine") : machine.name, Tone::kStrong);
  add(root.line, machine.software.product.value_or({}));
  add(root.line, machine.cpus.model.name.value_or({}), Tone::kQuiet);
  for (const PackageGroup& package : outline.packages) {
    if (package.packages.empty()) {
      add_nodes(machine, package.nodes, root.children);
      continue;
    }
    Node node{{{package_words(machine, package), Tone::kPlain}}, {}};
    add_nodes(machine, package.nodes, node.children);
    root.children.push_back(std::move(node));
  }
  return {{root}};
}

std::string topology_counts(const Machine& machine, const Outline& outline) {
  std::vector<std::string> parts;
  std::string cpus;
  const auto part = [&](std::string& list, std::size_t count, const char* what) {
    if (count > 0) list += (list.empty() ? "" : ", ") + count_of(count, what);
  };
  part(cpus, machine.cpus.packages.size(), "package");
  part(cpus, machine.cpus.cores.size(), "core");
  part(cpus, machine.cpus.online.size(), "CPU");
  std::string numa;
  part(numa, machine.numa.nodes.size(), "NUMA node");
  Bytes memory{};
  for (const model::NumaNode& node : machine.numa.nodes) {
    if (node.kind != model::NumaKind::kGpuMemory) memory = memory + node.memory.value_or({});
  }
  if (memory.value > 0) numa += (numa.empty() ? "" : ", ") + angio::in_words(memory);
  std::string gpus;
  part(gpus, machine.gpus.size(), "GPU");
  std::string nics;
  part(nics, machine.rdma.size(), "RDMA device");
  part(nics, bare_nics(outline), "NIC");
  for (std::string* each : {&cpus, &numa, &gpus, &nics}) {
    if (!each->empty()) parts.push_back(std::move(*each));
  }
  return join(parts, "; ");
}

std::string pci_network_kind(const Machine& machine, const Leaf& leaf) {
  if (!leaf.pci) return {};
  // PCI Code and ID Assignment: 0207 InfiniBand controller, 0200 Ethernet controller.
  const std::uint32_t code = machine.pci.devices[*leaf.pci].class_code >> 8U;
  if (code == 0x0207) return "InfiniBand";
  return code == 0x0200 ? "Ethernet" : "network";
}

std::string cache_summary(const Machine& machine) {
  std::map<std::tuple<int, model::CacheKind, std::uint64_t>, std::pair<std::string, std::size_t>> groups;
  for (const model::Cache& cache : machine.cpus.caches) {
    const Bytes* size = cache.size.get();
    auto& [name, count] =
        groups[{-static_cast<int>(cache.level), cache.kind, size != nullptr ? size->value : 0}];
    name = cache_name(cache) + (size != nullptr ? " " + angio::in_words(*size) : " of unknown size");
    ++count;
  }
  std::vector<std::string> words;
  for (const auto& [key, group] : groups)
    words.push_back(fmt::format("{} × {}", group.second, group.first));
  return join(words, ", ");
}

}  // namespace angio::views
