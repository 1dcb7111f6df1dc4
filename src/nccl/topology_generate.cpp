#include "nccl/topology_generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "nccl/system_graph.hpp"

namespace angio::nccl {
namespace {

constexpr std::string_view kSwitchClass = "0x068000";    // PCI_NVSWITCH_CLASS, src/graph/topo.h
constexpr std::string_view kHidden = "fffffff:ffff:ff";  // an NVSwitch whose address is not known

std::string hexadecimal(std::uint32_t value) {
  return fmt::format("0x{:04x}", value);
}

class Generator {
 public:
  explicit Generator(const model::Machine& machine) : machine_(machine) {}

  Result<Generated> run() {
    made_.root.name = "system";
    made_.root.set("version", "1");
    for (const model::Gpu& gpu : machine_.gpus)
      add_gpu(gpu);
    if (gpus_ == 0) {
      return fail(ErrorCode::kNotFound,
                  machine_.gpus.empty() ? "no GPU on this machine" : "no GPU whose PCI address is known",
                  "NCCL's topology is about GPUs: use a snapshot of a GPU node (angio collect), --snap FILE");
    }
    std::int64_t number = 0;
    for (const model::RdmaDevice& device : machine_.rdma)
      add_nic(device, number);
    for (auto& [numa, cpu] : cpus_)
      made_.root.children.push_back(std::move(cpu));
    closing_notes();
    narrow_links();
    return std::move(made_);
  }

 private:
  void unknown(std::string text) {
    if (std::ranges::find(made_.unknown, text) == made_.unknown.end())
      made_.unknown.push_back(std::move(text));
  }

  // -1 is NCCL's number of an unknown node.
  std::int64_t numa_of(const std::vector<std::uint32_t>& chain, const model::Gpu* gpu) {
    for (const std::uint32_t index : chain)
      if (const NumaId* numa = machine_.pci.devices[index].numa.get()) return numa->value;
    if (gpu != nullptr)
      if (const NumaId* numa = gpu->numa.get()) return numa->value;
    unknown(
        "the NUMA node of a device: it stands below numaid=\"-1\"; NCCL reads /sys only for devices that the "
        "file lacks");
    return -1;
  }

  Element& cpu_of(std::int64_t numa) {
    const auto [at, fresh] = cpus_.try_emplace(numa);
    Element& cpu = at->second;
    if (!fresh) return cpu;
    cpu.name = "cpu";
    cpu.set("numaid", std::to_string(numa));
    const auto& nodes = machine_.numa.nodes;
    const auto node =
        std::ranges::find_if(nodes, [&](const model::NumaNode& each) { return each.id.value == numa; });
    if (node != nodes.end() && !node->cpus.empty()) {
      cpu.set("affinity", affinity_text(node->cpus, last_cpu()));
    } else {
      unknown("the CPUs of a NUMA node: no affinity, NCCL reads /sys/devices/system/node");
    }
    add_model(cpu);
    return cpu;
  }

  [[nodiscard]] std::uint32_t last_cpu() const {
    std::uint32_t last = 0;
    const auto take = [&](const CpuSet& set) {
      for (const std::uint32_t cpu : set.members())
        last = std::max(last, cpu);
    };
    take(machine_.cpus.online);
    if (const CpuSet* present = machine_.cpus.present.get()) take(*present);
    for (const model::NumaNode& node : machine_.numa.nodes)
      take(node.cpus);
    return last;
  }

  void add_model(Element& cpu) {
    const model::CpuModel& model = machine_.cpus.model;
    const std::string* arch = model.architecture.get();
    if (arch == nullptr) {
      unknown("the CPU: no arch and vendor, NCCL asks the CPU it runs on");
      return;
    }
    // NCCL's word is the one it was compiled for; a 32-bit personality shows a 64-bit CPU as i686.
    const bool x86 =
        *arch == "x86_64" || (arch->size() == 4 && arch->starts_with("i") && arch->ends_with("86"));
    cpu.set("arch", x86                          ? "x86_64"
                    : *arch == "aarch64"         ? "arm64"
                    : arch->starts_with("ppc64") ? "ppc64"
                                                 : *arch);
    if (!x86) return;
    if (const std::string* vendor = model.vendor.get()) cpu.set("vendor", *vendor);
    if (const std::uint32_t* family = model.family.get())
      cpu.set("familyid", std::to_string(nccl_family(*family)));
    if (const std::uint32_t* number = model.model.get()) cpu.set("modelid", std::to_string(*number));
  }

  // The pci element of a device, with those of the bridges above it.
  Element& pci_of(std::uint32_t device, const model::Gpu* gpu) {
    const std::vector<std::uint32_t> chain = model::chain_of(machine_.pci, device);  // itself at least
    Element* parent = &cpu_of(numa_of(chain, gpu));
    // NCCL climbs /sys two steps at a time (ncclTopoGetXmlFromSys): from a device past the downstream port to
    // the upstream port of its switch, and past the root port to the CPU.
    for (std::size_t at = (chain.size() - 1) / 2 * 2 + 2; at > 0; at -= 2)
      parent = &child_pci(*parent, chain[at - 2]);
    return *parent;
  }

  Element& child_pci(Element& parent, std::uint32_t index) {
    const model::PciDevice& device = machine_.pci.devices[index];
    const std::string address = to_string(device.address);
    const auto found = std::ranges::find_if(
        parent.children, [&](const Element& child) { return child.get("busid") == address; });
    if (found != parent.children.end()) return *found;
    Element pci;
    pci.name = "pci";
    pci.set("busid", address);
    pci.set("class", fmt::format("0x{:06x}", device.class_code));
    pci.set("vendor", hexadecimal(device.vendor));
    pci.set("device", hexadecimal(device.device));
    pci.set("subsystem_vendor", hexadecimal(device.subsystem_vendor));
    pci.set("subsystem_device", hexadecimal(device.subsystem_device));
    add_link(pci, index);
    // By bus id, as NCCL inserts them.
    const auto before = std::ranges::find_if(parent.children, [&](const Element& child) {
      return child.name == "pci" && child.get("busid") > address;
    });
    return *parent.children.insert(before, std::move(pci));
  }

  void add_link(Element& pci, std::uint32_t index) {
    const auto link = usable_link(machine_.pci, index);
    if (!link) {
      unknown(fmt::format(
          "link speed and width of {}: NCCL reads them from /sys, and takes Gen3 x16 where it cannot",
          pci.get("busid")));
      return;
    }
    pci.set("link_speed", link_speed_text(link->speed));
    pci.set("link_width", std::to_string(link->lanes));
  }

  void add_gpu(const model::Gpu& gpu) {
    if (!gpu.pci || *gpu.pci >= machine_.pci.devices.size()) {
      const PciAddress* address = gpu.address.get();
      if (address == nullptr) {
        unknown(fmt::format("the PCI address of GPU {}: it is not in the file", gpu.index));
        return;
      }
      add_bare_gpu(gpu, *address);
      return;
    }
    ++gpus_;
    fill_gpu(gpu, pci_of(*gpu.pci, &gpu));
  }

  // A source without a PCI tree: the GPU hangs off its CPU.
  void add_bare_gpu(const model::Gpu& gpu, const PciAddress& address) {
    unknown(
        "the PCI tree: GPUs hang directly off their CPU, which NCCL keeps as the file says it; generate from "
        "a "
        "snapshot or on the machine");
    Element& cpu = cpu_of(numa_of({}, &gpu));
    Element pci;
    pci.name = "pci";
    pci.set("busid", to_string(address));
    pci.set("class", "0x030200");
    cpu.children.push_back(std::move(pci));
    ++gpus_;
    fill_gpu(gpu, cpu.children.back());
  }

  void fill_gpu(const model::Gpu& gpu, Element& pci) {
    Element element;
    element.name = "gpu";
    element.set("dev", std::to_string(gpu.library_index.value_or(gpu.index)));
    if (const auto* capability = gpu.compute_capability.get()) {
      element.set("sm", std::to_string(capability->major * 10 + capability->minor));
    } else {
      unknown("the compute capability of the GPUs: no sm, NCCL asks NVML");
    }
    add_nvlinks(gpu, element);
    if (gpu.coherent_link.is(true)) unknown("the bandwidth of NVLink-C2C: no <c2c>, NCCL asks NVML for it");
    pci.children.push_back(std::move(element));
  }

  void add_nvlinks(const model::Gpu& gpu, Element& element) {
    std::map<std::pair<std::string, std::string>, std::uint32_t> links;  // target and class
    for (const model::GpuLink& link : gpu.links) {
      if (link.state != model::LinkState::kActive) continue;
      const PciAddress* peer = link.peer.get();
      const bool nvswitch = link.peer_kind == model::PeerKind::kSwitch;
      if (peer == nullptr && !nvswitch) {
        unknown(
            "the other end of an NVLink: that link is left out, and NCCL asks NVML only for GPUs without "
            "any");
        continue;
      }
      ++links[{peer == nullptr ? std::string(kHidden) : to_string(*peer), class_of(link.peer_kind)}];
    }
    for (std::size_t index = 0; index < gpu.linked.size(); ++index) {
      const std::uint32_t count = index < gpu.linked_counts.size() ? gpu.linked_counts[index] : 0;
      if (count == 0) {
        unknown("the number of NVLinks between two GPUs: they are left out, NCCL asks NVML");
        continue;
      }
      links[{to_string(gpu.linked[index]), "0x030200"}] += count;
    }
    for (const auto& [target, count] : links)
      element.children.push_back(nvlink(target.first, target.second, count));
  }

  static std::string class_of(model::PeerKind kind) {
    if (kind == model::PeerKind::kSwitch) return std::string(kSwitchClass);
    return kind == model::PeerKind::kCpu ? "0x068001" : "0x030200";
  }

  static Element nvlink(const std::string& target, const std::string& target_class, std::uint32_t count) {
    Element link;
    link.name = "nvlink";
    link.set("target", target);
    link.set("count", std::to_string(count));
    link.set("tclass", target_class);
    return link;
  }

  void add_nic(const model::RdmaDevice& device, std::int64_t& number) {
    if (!device.pci || *device.pci >= machine_.pci.devices.size()) {
      unknown(fmt::format("where {} hangs: it is not in the file, NCCL puts it below the first CPU",
                          printable(device.name)));
      return;
    }
    std::vector<Element> nets;
    for (const model::RdmaPort& port : device.ports) {
      const std::string* state = port.state.get();
      if (state != nullptr && *state != "ACTIVE") continue;  // NCCL leaves it out (ncclIbInitDevices)
      nets.push_back(net(device, port, number++));
    }
    if (nets.empty()) return;
    Element& pci = pci_of(*device.pci, nullptr);
    const auto nic = std::ranges::find(pci.children, "nic", &Element::name);
    if (nic == pci.children.end()) {
      Element made;
      made.name = "nic";
      made.children = std::move(nets);
      pci.children.push_back(std::move(made));
    } else {
      nic->children.insert(nic->children.end(), nets.begin(), nets.end());
    }
  }

  Element net(const model::RdmaDevice& device, const model::RdmaPort& port, std::int64_t number) {
    Element element;
    element.name = "net";
    element.set("name", printable(device.name));
    element.set("dev", std::to_string(number));
    if (const BitsPerSecond* rate = port.rate.get()) {
      element.set("speed", std::to_string(std::llround(rate->value / 1e6)));
    } else {
      unknown("the speed of a NIC: NCCL asks its network plugin");
    }
    element.set("port", std::to_string(port.number));
    const std::string* guid =
        device.system_guid.is_known() ? device.system_guid.get() : device.node_guid.get();
    if (guid != nullptr) {
      const std::string text = swapped_guid(*guid);
      if (!text.empty()) element.set("guid", text);
    }
    return element;
  }

  // sysfs: 58a2:e103:00b1:7ca8; NCCL prints the eight bytes as a little-endian number.
  static std::string swapped_guid(const std::string& text) {
    std::string digits;
    for (const char c : text)
      if (c != ':') digits += c;
    const auto value = parse_integer<std::uint64_t>(digits, 16);
    if (!value || digits.size() != 16 || *value == 0) return {};
    std::uint64_t swapped = 0;
    for (unsigned byte = 0; byte < 8; ++byte)
      swapped = (swapped << 8U) | ((*value >> (8U * byte)) & 0xffU);
    return fmt::format("0x{:x}", swapped);
  }

  void closing_notes() {
    unknown("GPUDirect RDMA (gdr) and the ranks: NCCL fills both in when it loads the file");
    if (!has_net(made_.root)) unknown("NICs: no active RDMA port was found; sockets NCCL finds itself");
    if (machine_.software.virtual_machine.is_known())
      unknown(fmt::format(
          "what the hypervisor hides: this is a {} virtual machine, and its PCI tree is the one it shows",
          printable(*machine_.software.virtual_machine.get())));
  }

  // NCCL reads max_link_width; a link that trained narrower shows in no figure of it.
  void narrow_links() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> gpus;  // names by lanes now and counted
    for (const model::Gpu& gpu : machine_.gpus)
      if (const auto lanes = narrow_lanes(gpu.pci, gpu.pcie_width.value_or(0))) {
        std::string& names = gpus[*lanes];
        names += fmt::format("{}{}", names.empty() ? "" : ", ", gpu.library_index.value_or(gpu.index));
      }
    const auto note = [&](std::string_view kind, const std::string& names, const auto& lanes) {
      made_.notes.push_back(
          fmt::format("{}{} now x{}; NCCL counts x{}", kind, names, lanes.first, lanes.second));
    };
    for (const auto& [lanes, names] : gpus)
      note("GPU ", names, lanes);
    for (const model::RdmaDevice& device : machine_.rdma)
      if (const auto lanes = narrow_lanes(device.pci, 0)) note("", printable(device.name), *lanes);
  }

  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> narrow_lanes(
      std::optional<std::uint32_t> device, std::uint32_t lanes) const {
    if (!device || *device >= machine_.pci.devices.size()) return std::nullopt;
    if (const model::PciLink* now = machine_.pci.devices[*device].link.get()) lanes = now->lanes;
    const auto counted = usable_link(machine_.pci, *device);
    if (lanes == 0 || !counted || lanes >= counted->lanes) return std::nullopt;
    return std::pair<std::uint32_t, std::uint32_t>(lanes, counted->lanes);
  }

  static bool has_net(const Element& element) {
    return element.name == "net" || std::ranges::any_of(element.children, has_net);
  }

  const model::Machine& machine_;
  Generated made_;
  std::size_t gpus_ = 0;
  std::map<std::int64_t, Element> cpus_;
};

Element* find_pci(Element& element, std::uint64_t bus) {
  for (Element& child : element.children) {
    if (child.name == "pci" && bus_number(child.get("busid")) == bus) return &child;
    if (Element* found = find_pci(child, bus)) return found;
  }
  return nullptr;
}

bool names_net(const Element& element, std::string_view name) {
  if (element.name == "net" && element.get("name") == name) return true;
  return std::ranges::any_of(element.children, [&](const Element& child) { return names_net(child, name); });
}

// The device's element goes below the file's element of the nearest bridge it has, or below its CPU.
void add_device(Element& file, const Element& pci, const std::vector<const Element*>& above) {
  for (auto at = above.rbegin(); at != above.rend(); ++at) {
    if ((*at)->name != "pci") continue;
    if (Element* bridge = find_pci(file, bus_number((*at)->get("busid")))) {
      bridge->children.push_back(pci);
      return;
    }
  }
  const std::string_view numa = above.empty() ? std::string_view() : above.front()->get("numaid");
  for (Element& cpu : file.children)
    if (cpu.name == "cpu" && (cpu.get("numaid") == numa || &cpu == &file.children.back())) {
      cpu.children.push_back(pci);
      return;
    }
}

std::size_t complete_below(Element& file, const Element& detected, std::vector<const Element*>& above) {
  std::size_t added = 0;
  for (const Element& child : detected.children) {
    const Element* gpu = child.child("gpu");
    const Element* nic = child.child("nic");
    if (child.name == "pci" && (gpu != nullptr || nic != nullptr)) {
      Element* own = find_pci(file, bus_number(child.get("busid")));
      const Element& device = gpu != nullptr ? *gpu : *nic;
      if (own != nullptr && own->child(device.name) == nullptr) {
        own->children.push_back(device);
        ++added;
      } else if (own == nullptr && (gpu != nullptr || !names_net(file, nic->children.front().get("name")))) {
        add_device(file, child, above);
        ++added;
      }
    }
    above.push_back(&child);
    added += complete_below(file, child, above);
    above.pop_back();
  }
  return added;
}

// nvlink or c2c of the detected GPU where the file's has none.
bool take_links(Element& gpu, const Element& detected, std::string_view name) {
  if (gpu.child(name) != nullptr) return false;
  bool taken = false;
  for (const Element& link : detected.children) {
    if (link.name != name) continue;
    gpu.children.push_back(link);
    taken = true;
  }
  return taken;
}

}  // namespace

std::size_t complete_links(Element& file, const Element& detected) {
  std::size_t gpus = 0;
  for (const Element& child : detected.children) {
    const Element* gpu = child.child("gpu");
    Element* pci =
        child.name == "pci" && gpu != nullptr ? find_pci(file, bus_number(child.get("busid"))) : nullptr;
    if (pci != nullptr) {
      const auto own = std::ranges::find(pci->children, "gpu", &Element::name);
      if (own != pci->children.end()) {
        const bool nvlink = take_links(*own, *gpu, "nvlink");
        const bool c2c = take_links(*own, *gpu, "c2c");
        gpus += nvlink || c2c ? 1U : 0U;
      }
    }
    gpus += complete_links(file, child);
  }
  return gpus;
}

std::size_t complete(Element& file, const Element& detected) {
  std::vector<const Element*> above;
  return complete_below(file, detected, above);
}

Result<Generated> generate_topology(const model::Machine& machine) {
  return Generator(machine).run();
}

std::string link_speed_text(TransfersPerSecond speed) {
  return fmt::format("{:.1f} GT/s PCIe", speed.value / 1e9);
}

std::string affinity_text(const CpuSet& cpus, std::uint32_t last_cpu) {
  std::vector<std::uint32_t> words(last_cpu / 32 + 1);
  for (const std::uint32_t cpu : cpus.members())
    if (cpu / 32 < words.size()) words[cpu / 32] |= 1U << (cpu % 32);
  std::string text;
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", *word);
  return text;
}

std::uint32_t nccl_family(std::uint32_t family) {
  // CPUID leaf 1: the kernel adds the extended family, NCCL puts it in front (src/graph/xml.cc).
  constexpr std::uint32_t kExtended = 15;
  return family < kExtended ? family : kExtended + ((family - kExtended) << 4U);
}

std::optional<model::PciLink> usable_link(const model::Pci& pci, std::uint32_t device) {
  const model::PciDevice& own = pci.devices[device];
  const model::PciLink* link = own.link_max.get();
  if (link == nullptr) return std::nullopt;
  model::PciLink usable = *link;
  if (own.parent && *own.parent < pci.devices.size()) {
    if (const model::PciLink* port = pci.devices[*own.parent].link_max.get()) {
      usable.speed = std::min(usable.speed, port->speed);
      usable.lanes = std::min(usable.lanes, port->lanes);
    }
  }
  return usable;
}

}  // namespace angio::nccl
