// From the elements of a topology file to NCCL's nodes and links: ncclTopoGetSystemFromXml of
// src/graph/topo.cc.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"
#include "nccl/system_graph.hpp"
#include "nccl/system_paths.hpp"

namespace angio::nccl {
namespace {

// Ours, so that a hostile file costs little: NCCL holds 640 of a kind, one host has far fewer in all.
constexpr std::size_t kMostNodes = 512;
// NCCL's numbers of CPU kinds (src/include/graph.h).
constexpr int kX86 = 1, kPower = 2, kArm = 3;
constexpr int kIntel = 1, kAmd = 2, kZhaoxin = 3;
constexpr int kBroadwell = 1, kSkylake = 2, kSapphireRapids = 3, kEmeraldRapids = 4, kYongfeng = 1;

enum class PciMeaning : std::uint8_t { kPci, kSwitch, kCpu, kGpu, kNic };

// By the prefix of the class, as kvDictPciClass of src/graph/topo.cc.
PciMeaning meaning_of(std::string_view pci_class) {
  if (pci_class.starts_with("0x068000")) return PciMeaning::kSwitch;
  if (pci_class.starts_with("0x068001")) return PciMeaning::kCpu;
  if (pci_class.starts_with("0x03")) return PciMeaning::kGpu;
  if (pci_class.starts_with("0x02")) return PciMeaning::kNic;
  return PciMeaning::kPci;
}

std::string_view nvlink_figure(int sm) {
  if (sm >= 100) return "nvlink-sm100";
  if (sm >= 90) return "nvlink-sm90";
  if (sm == 86) return "nvlink-sm86";
  if (sm >= 70 && sm < 80) return "nvlink-sm70";
  if (sm >= 60 && sm < 70) return "nvlink-sm60";
  return "nvlink-sm80";
}

class Builder {
 public:
  explicit Builder(const SystemOptions& options)
      : version_(options.version), devices_(at_least("2.30")), local_(figure("local")) {
    system_.options = options;
  }

  Result<System> build(const Element& root) {
    number_ranks(root);
    for (const Element& element : root.children)
      if (element.name == "cpu") add_cpu(element);
    add_links(root, "", 0);
    add_c2c(root, "", 0);
    add_pci_links(root, "", 0);
    flatten_broadcom(system_);
    connect_cpus();
    for (const std::uint32_t cpu : system_.all(NodeKind::kCpu))
      sort_tree(cpu, kNone);
    if (too_many_) {
      return fail(ErrorCode::kInvalidInput, fmt::format("more than {} devices", kMostNodes),
                  "One host is smaller: check where the file is from");
    }
    if (system_.all(NodeKind::kCpu).empty())
      return fail(ErrorCode::kInvalidInput, "no <cpu> in the file", "NCCL hangs every device below a <cpu>");
    return std::move(system_);
  }

 private:
  [[nodiscard]] bool at_least(std::string_view version) const {
    return knowledge::compare_versions(version_, version).value_or(1) >= 0;
  }
  [[nodiscard]] float figure(std::string_view name) const {
    return static_cast<float>(knowledge::nccl_topology_value(name, version_));
  }

  void assume(std::string text) {
    if (std::ranges::find(system_.assumptions, text) == system_.assumptions.end())
      system_.assumptions.push_back(std::move(text));
  }

  // A rank each: the file's if they are whole and different, else by device number.
  void number_ranks(const Element& root) {
    std::vector<const Element*> gpus;
    collect(root, "gpu", gpus);
    std::set<std::int64_t> ranks;
    for (const Element* gpu : gpus)
      if (gpu->find("rank") != nullptr) ranks.insert(read_number(gpu->get("rank")));
    if (ranks.size() == gpus.size()) return;
    std::ranges::stable_sort(gpus, {}, [](const Element* gpu) { return read_number(gpu->get("dev")); });
    for (std::size_t index = 0; index < gpus.size(); ++index)
      ranks_[gpus[index]] = static_cast<int>(index);
    if (!gpus.empty()) assume("ranks follow the device numbers: the file names none, or one twice");
  }

  static void collect(const Element& element, std::string_view name, std::vector<const Element*>& found) {
    if (element.name == name) found.push_back(&element);
    for (const Element& each : element.children)
      collect(each, name, found);
  }

  std::uint32_t add_node(NodeKind kind, std::uint32_t host, std::uint64_t id) {
    if (system_.nodes.size() >= kMostNodes) {
      too_many_ = true;
      return kNone;
    }
    SystemNode node;
    node.kind = kind;
    node.host = host;
    node.id = id;
    auto& siblings = system_.of_kind[static_cast<std::size_t>(kind)];
    node.index = static_cast<std::uint32_t>(siblings.size());
    const auto index = static_cast<std::uint32_t>(system_.nodes.size());
    siblings.push_back(index);
    system_.nodes.push_back(std::move(node));
    return index;
  }

  [[nodiscard]] std::uint32_t find_node(NodeKind kind, std::uint32_t host, std::uint64_t id) const {
    for (const std::uint32_t index : system_.all(kind))
      if (system_.nodes[index].host == host && system_.nodes[index].id == id) return index;
    return kNone;
  }

  // One direction. Links to the same node add up; a node's links stay in falling order of bandwidth.
  void connect(std::uint32_t from, std::uint32_t to, LinkKind kind, float bandwidth) {
    if (from == kNone || to == kNone) return;
    std::vector<std::uint32_t>& links = system_.nodes[from].links;
    auto at = std::ranges::find_if(links, [&](std::uint32_t link) {
      return system_.links[link].to == to && system_.links[link].kind == kind;
    });
    if (at == links.end()) {
      system_.links.push_back({kind, 0, from, to});
      links.push_back(static_cast<std::uint32_t>(system_.links.size() - 1));
      at = links.end() - 1;
    }
    SystemLink& link = system_.links[*at];
    link.bandwidth += bandwidth;
    for (; at != links.begin() && system_.links[*(at - 1)].bandwidth < link.bandwidth; --at)
      std::iter_swap(at, at - 1);
  }
  void connect_both(std::uint32_t one, std::uint32_t other, LinkKind kind, float bandwidth) {
    connect(one, other, kind, bandwidth);
    connect(other, one, kind, bandwidth);
  }

  std::uint32_t host_of(const Element& cpu) {
    const std::string hash(cpu.get("host_hash"));
    const auto found = std::ranges::find(hosts_, hash);
    if (found != hosts_.end()) return static_cast<std::uint32_t>(found - hosts_.begin());
    hosts_.push_back(hash);
    return static_cast<std::uint32_t>(hosts_.size() - 1);
  }

  void add_cpu(const Element& element) {
    const std::uint32_t host = host_of(element);
    const auto numa = static_cast<std::uint64_t>(read_number(element.get("numaid")));
    const std::uint32_t cpu = add_node(NodeKind::kCpu, host, numa & kLocalId);
    if (cpu == kNone) return;
    read_model(element, system_.nodes[cpu]);
    numa_bits_ = (numa & 0xffU) << 48U;
    for (const Element& child : element.children) {
      if (child.name == "pci") add_pci(child, cpu, host, 1);
      if (child.name != "nic") continue;
      const std::uint64_t id = devices_ ? numa_bits_ : (numa & kLocalId);
      std::uint32_t nic = find_node(NodeKind::kNic, host, id);
      if (nic == kNone) {
        nic = add_node(NodeKind::kNic, host, id);
        connect_both(cpu, nic, LinkKind::kPci, local_);
      }
      add_nets(child, nic, host);
    }
  }

  void read_model(const Element& element, SystemNode& cpu) {
    const std::string_view arch = element.get("arch");
    if (arch.starts_with("x86_64")) cpu.arch = kX86;
    if (arch.starts_with("arm64")) cpu.arch = kArm;
    if (arch.starts_with("ppc64")) cpu.arch = kPower;
    if (arch.empty()) {
      assume("arch x86_64: a <cpu> names none, NCCL takes the one it runs on");
      cpu.arch = kX86;
    }
    if (cpu.arch != kX86) return;
    const std::string_view vendor = element.get("vendor");
    cpu.vendor = vendor.starts_with("GenuineIntel")                                         ? kIntel
                 : vendor.starts_with("AuthenticAMD")                                       ? kAmd
                 : vendor.starts_with("CentaurHauls") || vendor.starts_with("  Shanghai  ") ? kZhaoxin
                                                                                            : 0;
    if (vendor.empty())
      assume("the CPU's vendor is unknown: a <cpu> names none, NCCL asks the CPU it runs on");
    const std::int64_t family = read_number(element.get("familyid"));
    const std::int64_t model = read_number(element.get("modelid"));
    if (cpu.vendor == kIntel) cpu.model = intel_model(family, model);
    if (cpu.vendor == kZhaoxin && family == 7 && model == 0x5b) cpu.model = kYongfeng;  // src/graph/topo.cc
  }

  [[nodiscard]] int intel_model(std::int64_t family, std::int64_t model) const {
    const auto from = [&](std::string_view name) {
      return family == 6 && static_cast<double>(model) >= knowledge::nccl_topology_value(name, version_);
    };
    if (from("model-emerald-rapids")) return kEmeraldRapids;
    if (from("model-sapphire-rapids")) return kSapphireRapids;
    return from("model-skylake") ? kSkylake : kBroadwell;
  }

  [[nodiscard]] float pci_bandwidth(const Element& pci) const {
    auto width = static_cast<double>(read_number(pci.get("link_width")));
    if (width <= 0) width = knowledge::nccl_topology_value("lanes-unknown", version_);
    double lane = lane_value(pci.get("link_speed"), version_);
    if (std::isnan(lane)) lane = knowledge::nccl_topology_value("lane-unknown", version_);
    return static_cast<float>(width * lane / 80.0);  // 100 Mb/s to GB/s
  }

  void add_pci(const Element& element, std::uint32_t parent, std::uint32_t host, std::size_t depth) {
    if (depth > 32) return;  // no PCI tree is deeper; the reader bounds nesting too
    const PciMeaning meaning = meaning_of(element.get("class"));
    const std::uint64_t bus = bus_number(element.get("busid")) & kLocalId;
    const float bandwidth = pci_bandwidth(element);
    std::uint32_t node = kNone;
    if (element.child("nic") != nullptr) {
      node = add_pci_nic(element, host, bus);
    } else if (element.child("gpu") != nullptr) {
      node = add_gpus(element, parent, host, bus, bandwidth);
    } else if (meaning == PciMeaning::kPci) {
      node = add_node(NodeKind::kPci, host, bus);
      if (node != kNone) system_.nodes[node].pci_device = device_number(element);
      for (const Element& child : element.children)
        if (child.name == "pci") add_pci(child, node, host, depth + 1);
    }
    if (node != kNone) connect_both(node, parent, LinkKind::kPci, bandwidth);
  }

  static std::uint64_t device_number(const Element& pci) {
    std::uint64_t number = 0;
    for (const std::string_view part : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
      number = (number << 16U) + (static_cast<std::uint64_t>(read_number(pci.get(part))) & 0xffffU);
    return number;
  }

  // The node to hang below the parent; none when the NIC is there already (ports of one card).
  std::uint32_t add_pci_nic(const Element& element, std::uint32_t host, std::uint64_t bus) {
    // NCCL_TOPO_LOCAL_NIC_ID of src/graph/topo.h; before 2.30 the functions of a card were one.
    const std::uint64_t id = devices_ ? numa_bits_ + bus : bus & ~std::uint64_t{0xf};
    const std::uint32_t there = find_node(NodeKind::kNic, host, id);
    const std::uint32_t nic = there == kNone ? add_node(NodeKind::kNic, host, id) : there;
    add_nets(*element.child("nic"), nic, host);
    return there == kNone ? nic : kNone;
  }

  std::uint32_t add_gpus(const Element& element, std::uint32_t parent, std::uint32_t host, std::uint64_t bus,
                         float bandwidth) {
    std::uint32_t first = kNone;
    std::uint64_t number = 0;
    for (const Element& child : element.children) {
      if (child.name != "gpu") continue;
      if (!devices_) return add_gpu(child, host, bus);
      if (first == kNone) {
        first = add_gpu_device(element, child, host, bus);
        connect_both(first, parent, LinkKind::kPci, bandwidth);
      }
      // src/graph/topo.h, NCCL_TOPO_GPU_LOCAL_ID: which GPU of the device in the bits above 40
      const std::uint32_t gpu = add_gpu(child, host, (number++ << 40U) | (bus & 0xffffffffffU));
      if (gpu == kNone) return kNone;
      system_.nodes[gpu].parent = first;
      connect_both(first, gpu, LinkKind::kLocal, local_);
    }
    return kNone;
  }

  std::uint32_t add_gpu_device(const Element& pci, const Element& gpu, std::uint32_t host,
                               std::uint64_t bus) {
    const std::uint32_t device = add_node(NodeKind::kDevice, host, bus);
    if (device == kNone) return kNone;
    system_.nodes[device].pci_device = device_number(pci);
    system_.nodes[device].sm = static_cast<int>(read_number(gpu.get("sm")));
    system_.nodes[device].device = static_cast<int>(read_number(gpu.get("dev")));
    return device;
  }

  std::uint32_t add_gpu(const Element& element, std::uint32_t host, std::uint64_t id) {
    const std::uint32_t gpu = add_node(NodeKind::kGpu, host, id);
    if (gpu == kNone) return kNone;
    SystemNode& node = system_.nodes[gpu];
    const auto rank = ranks_.find(&element);
    node.rank = rank == ranks_.end() ? static_cast<int>(read_number(element.get("rank"))) : rank->second;
    node.device = static_cast<int>(read_number(element.get("dev")));
    node.sm = static_cast<int>(read_number(element.get("sm")));
    node.gdr = element.find("gdr") == nullptr || read_number(element.get("gdr")) != 0;
    if (element.find("gdr") == nullptr) assume("GPUDirect RDMA works: a <gpu> has no gdr, NCCL fills it in");
    return gpu;
  }

  void add_nets(const Element& nic, std::uint32_t parent, std::uint32_t host) {
    for (const Element& element : nic.children) {
      // Without dev a net is not added (ncclTopoAddNic); a part of a fused NIC says net="0".
      if (element.name != "net" || element.find("dev") == nullptr || element.get("net") == "0") continue;
      const auto dev = static_cast<std::uint64_t>(read_number(element.get("dev")));
      const std::uint32_t net = add_node(NodeKind::kNet, host, dev & kLocalId);
      if (net == kNone) return;
      fill_net(element, system_.nodes[net]);
      connect_both(parent, net, LinkKind::kNet, system_.nodes[net].bandwidth);
    }
  }

  void fill_net(const Element& element, SystemNode& net) {
    net.name = element.get("name");
    net.device = static_cast<int>(read_number(element.get("dev")));
    auto speed = static_cast<double>(read_number(element.get("speed")));
    if (speed <= 0) speed = knowledge::nccl_topology_value("net-unknown", version_);
    net.bandwidth = static_cast<float>(speed / knowledge::nccl_topology_value("net-mbps", version_));
    net.latency = static_cast<float>(parse_double(element.get("latency")).value_or(0));
    net.port = static_cast<int>(read_number(element.get("port")));
    net.gdr = element.find("gdr") == nullptr || read_number(element.get("gdr")) != 0;
    if (element.find("gdr") == nullptr)
      assume("GPUDirect RDMA works: a <net> has no gdr, NCCL asks its plugin");
    net.collective = static_cast<int>(read_number(element.get("coll")));
    const std::string_view guid = element.get("guid");
    net.asic = element.find("guid") == nullptr ? net.id : hexadecimal(guid);
    if (element.find("rail") != nullptr) net.rail = static_cast<int>(read_number(element.get("rail")));
    if (element.find("plane") != nullptr) net.plane = static_cast<int>(read_number(element.get("plane")));
  }

  static std::uint64_t hexadecimal(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    return bus_number(text.substr(0, text.find_first_not_of("0123456789abcdefABCDEF")));
  }

  [[nodiscard]] std::uint32_t gpu_end(std::uint32_t host, std::string_view bus) const {
    return find_node(devices_ ? NodeKind::kDevice : NodeKind::kGpu, host, bus_number(bus) & kLocalId);
  }

  // Walks the tree with the nearest bus id and the host, for the links that are added once all nodes are
  // there.
  template <typename Take>
  void walk(const Element& element, std::string_view bus, std::uint32_t host, const Take& take) {
    if (element.name == "cpu") host = host_of(element);
    const std::string* own = element.find("busid");
    if (own != nullptr) bus = *own;
    for (const Element& child : element.children) {
      take(child, bus, host);
      walk(child, bus, host, take);
    }
  }

  void add_links(const Element& root, std::string_view bus, std::uint32_t host) {
    walk(root, bus, host, [&](const Element& element, std::string_view at, std::uint32_t on) {
      if (element.name != "gpu") return;
      for (const Element& child : element.children)
        if (child.name == "nvlink") add_nvlink(child, at, on);
    });
  }

  void add_nvlink(const Element& link, std::string_view bus, std::uint32_t host) {
    const std::uint32_t gpu = gpu_end(host, bus);
    if (gpu == kNone) return;
    const float bandwidth =
        static_cast<float>(read_number(link.get("count"))) * figure(nvlink_figure(system_.nodes[gpu].sm));
    const PciMeaning target = meaning_of(link.get("tclass"));
    if (target == PciMeaning::kGpu) {
      connect(gpu, gpu_end(host, link.get("target")), LinkKind::kNvlink, bandwidth);
      return;
    }
    std::uint32_t remote = kNone;
    if (target == PciMeaning::kCpu) {
      remote = cpu_above(gpu, kNone, 0);
    } else {
      const auto& switches = system_.all(NodeKind::kSwitch);
      remote = switches.empty() ? add_node(NodeKind::kSwitch, 0, 0) : switches.front();
    }
    connect_both(gpu, remote, LinkKind::kNvlink, bandwidth);
  }

  [[nodiscard]] std::uint32_t cpu_above(std::uint32_t node, std::uint32_t from, std::size_t depth) const {
    if (system_.nodes[node].kind == NodeKind::kCpu) return node;
    if (depth > 40) return kNone;
    for (const std::uint32_t each : system_.nodes[node].links) {
      const SystemLink& link = system_.links[each];
      const NodeKind kind = system_.nodes[link.to].kind;
      if (link.kind != LinkKind::kPci || link.to == from) continue;
      if (kind != NodeKind::kPci && kind != NodeKind::kCpu) continue;
      const std::uint32_t cpu = cpu_above(link.to, node, depth + 1);
      if (cpu != kNone) return cpu;
    }
    return kNone;
  }

  void add_c2c(const Element& root, std::string_view bus, std::uint32_t host) {
    if (!at_least("2.19")) return;  // src/graph/xml.cc reads <c2c> from 2.19 on
    walk(root, bus, host, [&](const Element& element, std::string_view at, std::uint32_t on) {
      if (element.name != "c2c") return;
      const std::uint32_t gpu = gpu_end(on, at);
      if (gpu == kNone) return;
      const auto rate = static_cast<float>(static_cast<double>(read_number(element.get("bw"))) *
                                           static_cast<double>(read_number(element.get("count"))) /
                                           1000.0);  // MB/s to GB/s
      // Before 2.26 it is an NVLink to the CPU in all but name.
      connect_both(gpu, cpu_above(gpu, kNone, 0), at_least("2.26") ? LinkKind::kC2c : LinkKind::kNvlink,
                   rate);
    });
  }

  void add_pci_links(const Element& root, std::string_view bus, std::uint32_t host) {
    if (!at_least("2.22")) return;  // src/graph/xml.cc reads <pcilink> from 2.22 on
    walk(root, bus, host, [&](const Element& element, std::string_view at, std::uint32_t on) {
      if (element.name != "pcilink") return;
      connect(find_node(NodeKind::kPci, on, bus_number(at) & kLocalId),
              find_node(NodeKind::kPci, on, bus_number(element.get("target")) & kLocalId), LinkKind::kLocal,
              local_);
    });
  }

  [[nodiscard]] float between_cpus(const SystemNode& cpu) const {
    if (cpu.arch == kPower) return figure("cpu-power");
    if (cpu.arch == kArm) return figure("cpu-arm");
    if (cpu.arch != kX86) return local_;
    if (cpu.vendor == kAmd) return figure("cpu-amd");
    if (cpu.vendor == kZhaoxin) return figure(cpu.model == kYongfeng ? "cpu-yongfeng" : "cpu-zhaoxin");
    if (cpu.vendor != kIntel) return local_;
    if (cpu.model == kEmeraldRapids) return figure("cpu-intel-emerald-rapids");
    if (cpu.model == kSapphireRapids) return figure("cpu-intel-sapphire-rapids");
    return figure(cpu.model == kSkylake ? "cpu-intel-skylake" : "cpu-intel-old");
  }

  void connect_cpus() {
    for (const std::uint32_t one : system_.all(NodeKind::kCpu))
      for (const std::uint32_t other : system_.all(NodeKind::kCpu)) {
        if (one == other || system_.nodes[one].host != system_.nodes[other].host) continue;
        connect(one, other, LinkKind::kSys, between_cpus(system_.nodes[one]));
      }
  }

  // The link upwards last, so that searches go down first.
  void sort_tree(std::uint32_t index, std::uint32_t up) {
    std::vector<std::uint32_t>& links = system_.nodes[index].links;
    if (up != kNone) {
      const auto at =
          std::ranges::find_if(links, [&](std::uint32_t link) { return system_.links[link].to == up; });
      if (at != links.end()) std::rotate(at, at + 1, links.end());
    }
    for (const std::uint32_t link : std::vector<std::uint32_t>(links))
      if (system_.links[link].kind == LinkKind::kPci && system_.links[link].to != up)
        sort_tree(system_.links[link].to, index);
  }

  static constexpr std::uint64_t kLocalId =
      0x00ffffffffffffffU;  // src/graph/topo.h, NCCL_TOPO_ID_LOCAL_ID_MASK
  System system_;
  std::string version_;
  bool devices_;  // from 2.30 on a GPU hangs off a DEV node
  float local_;
  std::uint64_t numa_bits_ = 0;  // of the CPU being read, as they stand in the ids of its NICs
  bool too_many_ = false;
  std::vector<std::string> hosts_;
  std::map<const Element*, int> ranks_;
};

}  // namespace

Result<System> make_system(const Element& root, const SystemOptions& options) {
  auto system = Builder(options).build(root);
  if (!system) return system;
  if (system->all(NodeKind::kGpu).empty()) {
    return fail(ErrorCode::kInvalidInput, "no <gpu> in the file",
                "It names the PCI tree only, NCCL finds the GPUs itself: add --snap FILE of such a machine");
  }
  compute_paths(*system);
  return system;
}

}  // namespace angio::nccl
