// What a node looks like, for comparison with its siblings or its past. Left out on purpose: names, serials,
// addresses and GUIDs (each node has its own), free memory, load, clocks, counters and the current PCIe
// generation (all move), and everything unreadable (unknown is not different).
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "base/cpu_set.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/doctor.hpp"
#include "model/gid_choice.hpp"
#include "model/rdma_host.hpp"

namespace angio::diagnose {

using model::Machine;
using model::Observed;

namespace {

class Collector {
 public:
  explicit Collector(Traits& traits) : traits_(traits) {}

  void add(std::string name, std::string value) {
    traits_.values.emplace_back(std::move(name), std::move(value));
  }

  void add(std::string name, const Observed<std::string>& value) {
    if (value.is_known()) add(std::move(name), *value.get());
    if (value.is_absent()) add(std::move(name), std::string("none"));
  }
  void add(std::string name, const Observed<bool>& value) {
    if (const bool* yes = value.get()) add(std::move(name), std::string(*yes ? "yes" : "no"));
  }
  template <std::integral Number>
  void add(std::string name, const Observed<Number>& value) {
    if (const Number* number = value.get()) add(std::move(name), std::to_string(*number));
  }
  void add(std::string name, const Observed<NumaId>& value) {
    if (const NumaId* node = value.get()) add(std::move(name), std::to_string(node->value));
    if (value.is_absent())
      add(std::move(name),
          std::string(value.source().line > 0 ? "none in the file" : "unknown to the kernel"));
  }
  void add(std::string name, const Observed<CpuSet>& value) {
    if (const CpuSet* set = value.get())
      add(std::move(name), set->empty() ? std::string("none") : to_list(*set));
  }
  template <typename Quantity>
  void add_quantity(std::string name, const Observed<Quantity>& value) {
    if (const Quantity* quantity = value.get()) add(std::move(name), in_words(*quantity));
  }
  void add(std::string name, const Observed<model::Limit>& value) {
    const model::Limit* limit = value.get();
    if (limit != nullptr)
      add(std::move(name), limit->soft ? std::to_string(*limit->soft) : std::string("unlimited"));
  }

 private:
  Traits& traits_;
};

// Firmware and kernel keep a few MiB to themselves, differently at each boot: compare whole GiB.
std::string whole_gibibytes(Bytes size) {
  return std::to_string((size.value + (1ULL << 29U)) >> 30U) + " GiB";
}

// Boot entries name disks and addresses of the one node.
std::string common_command_line(std::string_view line) {
  std::vector<std::string> kept;
  for (const std::string_view word : split_words(line)) {
    const bool own = word.starts_with("root=") || word.starts_with("BOOT_IMAGE=") ||
                     word.starts_with("resume=") || word.starts_with("ip=") ||
                     word.starts_with("hostname=") || word.starts_with("BOOTIF=") ||
                     contains(word, "UUID=") || contains(word, "uuid=");
    if (!own) kept.emplace_back(word);
  }
  return join(kept, " ");
}

// tcp_rmem and its kind are apart by tabs.
std::string join_words(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(text))
    words.emplace_back(word);
  return join(words, " ");
}

void add_cpu_traits(const Machine& machine, Collector& out) {
  const model::Cpus& cpus = machine.cpus;
  out.add("CPU model", cpus.model.name);
  if (!cpus.online.empty()) out.add("CPUs online", to_list(cpus.online));
  if (!cpus.packages.empty()) out.add("CPU packages", std::to_string(cpus.packages.size()));
  out.add("threads per core", cpus.threads_per_core);
  out.add("CPUs isolated", cpus.isolated);
  out.add("CPU governor", cpus.governor);
  const model::Numa& numa = machine.numa;
  if (!numa.nodes.empty()) out.add("NUMA nodes", std::to_string(numa.nodes.size()));
  for (const model::NumaNode& node : numa.nodes) {
    const std::string name = "NUMA node " + std::to_string(node.id.value);
    out.add(name + " CPUs", node.cpus.empty() ? std::string("none") : to_list(node.cpus));
    if (const Bytes* size = node.memory.get()) out.add(name + " memory", whole_gibibytes(*size));
    if (const auto* distances = node.distances.get()) {
      std::vector<std::string> row;
      for (const std::uint32_t distance : *distances)
        row.push_back(std::to_string(distance));
      out.add(name + " distances", join(row, " "));
    }
  }
  out.add("zone reclaim mode", numa.zone_reclaim_mode);
  out.add("NUMA balancing", numa.balancing);
  out.add("transparent huge pages", numa.transparent_huge_pages);
}

void add_gpu_traits(const Machine& machine, Collector& out) {
  if (!machine.gpus.empty()) out.add("GPUs", std::to_string(machine.gpus.size()));
  for (const model::Gpu& gpu : machine.gpus) {
    const std::string name = "GPU " + std::to_string(gpu.index) + " ";
    out.add(name + "model", gpu.name);
    if (const Bytes* size = gpu.memory.get()) out.add(name + "memory", whole_gibibytes(*size));
    out.add(name + "PCIe generation, maximum", gpu.pcie_generation_max);
    out.add(name + "PCIe lanes", gpu.pcie_width);
    out.add(name + "NUMA node", gpu.numa);
    out.add(name + "MIG", gpu.mig);
    out.add(name + "ECC", gpu.ecc);
    out.add_quantity(name + "power limit", gpu.power_limit);
    out.add(name + "persistence mode", gpu.persistence);
    out.add(name + "compute mode", gpu.compute_mode);
    if (!gpu.links.empty()) {
      const auto active = std::ranges::count(gpu.links, model::LinkState::kActive, &model::GpuLink::state);
      out.add(name + "active NVLinks", std::to_string(active));
    }
    if (const auto* fabric = gpu.fabric.get()) out.add(name + "fabric", fabric->state);
  }
}

const char* layer_name(model::LinkLayer layer) {
  return layer == model::LinkLayer::kInfiniBand ? "InfiniBand"
         : layer == model::LinkLayer::kEthernet ? "Ethernet"
                                                : "unknown";
}

// "0 v1 link-local; 3 v2 IPv4": what an index means, not the addresses, which each node has of its own.
std::string gids_in_words(const model::RdmaPort& port) {
  constexpr std::size_t kMost = 16;  // bridges of pods fill tables with hundreds
  constexpr std::string_view kPrefix = "RoCE ";
  std::vector<std::string> entries;
  for (const model::Gid& gid : port.gids) {
    if (entries.size() == kMost) break;
    std::string meaning = model::meaning_of(gid);
    if (meaning.starts_with(kPrefix)) meaning.erase(0, kPrefix.size());
    std::erase(meaning, ',');
    entries.push_back(std::to_string(gid.index) + " " + meaning);
  }
  return join(entries, "; ");
}

void add_port_traits(const std::string& name, const model::RdmaPort& port, Collector& out) {
  const std::string at = name + "port " + std::to_string(port.number) + " ";
  out.add(at + "state", port.state);
  out.add_quantity(at + "rate", port.rate);
  out.add_quantity(at + "active MTU", port.active_mtu);
  out.add(at + "link layer", std::string(layer_name(port.link_layer)));
  const bool roce = port.link_layer == model::LinkLayer::kEthernet;
  if (roce && !port.gids.empty()) out.add(at + "GIDs", gids_in_words(port));
}

// The kernel's settings and what is beside devices; counts of interrupts and addresses are each node's own.
void add_rdma_host_traits(const Machine& machine, Collector& out) {
  if (machine.rdma_host == nullptr) return;
  const model::RdmaHost& host = *machine.rdma_host;
  for (std::size_t i = 0; i < std::min(host.devices.size(), machine.rdma.size()); ++i) {
    const std::string name = machine.rdma[i].name + " ";
    out.add(name + "relaxed ordering", host.devices[i].relaxed_ordering);
    out.add(name + "forced traffic class", host.devices[i].traffic_class);
  }
  for (std::size_t i = 0; i < std::min(host.interfaces.size(), machine.networks.size()); ++i) {
    const std::string name = machine.networks[i].name + " ";
    if (host.interfaces[i].ipoib_mode.is_known()) out.add(name + "IPoIB mode", host.interfaces[i].ipoib_mode);
    out.add(name + "arp_ignore", host.interfaces[i].arp_ignore);
    out.add(name + "arp_announce", host.interfaces[i].arp_announce);
    out.add(name + "rp_filter", host.interfaces[i].rp_filter);
  }
  for (const auto& [name, value] : host.sysctls) {
    if (const std::string* text = value.get()) out.add("sysctl " + name, join_words(*text));
  }
}

// The slot behind a name: where names were handed out in another order, it is another card. Virtual machines
// make their addresses up.
void add_address(const Machine& machine, const std::string& name, const Observed<PciAddress>& address,
                 Collector& out) {
  const PciAddress* known = address.get();
  if (known != nullptr && machine.software.virtual_machine.is_absent())
    out.add(name + "PCI address", to_string(*known));
}

void add_network_traits(const Machine& machine, Collector& out) {
  if (!machine.rdma.empty()) out.add("RDMA devices", std::to_string(machine.rdma.size()));
  for (const model::RdmaDevice& device : machine.rdma) {
    const std::string name = device.name + " ";
    out.add(name + "board", device.board_id);
    out.add(name + "firmware", device.firmware);
    out.add(name + "NUMA node", device.numa);
    add_address(machine, name, device.address, out);
    for (const model::RdmaPort& port : device.ports)
      add_port_traits(name, port, out);
  }
  for (const model::NetDevice& device : machine.networks) {
    const bool bond = device.kind.is("bond");
    if (!device.pci && !bond) continue;  // bridges, veth pairs and tunnels come and go
    const std::string name = device.name + " ";
    if (!bond) out.add(name + "driver", device.driver);
    if (bond) out.add(name + "members", std::to_string(device.bond_members.size()));
    out.add_quantity(name + "speed", device.speed);
    add_address(machine, name, device.address, out);
    out.add(name + "MTU", device.mtu);
    for (const auto& [leaf, value] : device.qos)
      out.add(name + leaf, value);
  }
  add_rdma_host_traits(machine, out);
}

// Modules that GPU and RDMA traffic depends on; others differ for a hundred dull reasons.
constexpr std::array<std::string_view, 14> kModules = {
    "amdgpu",      "efa",    "gdrdrv",    "ib_ipoib",       "ib_umad",    "irdma",    "mlx5_ib",
    "nv_peer_mem", "nvidia", "nvidia_fs", "nvidia_peermem", "nvidia_uvm", "rdma_ucm", "xpmem"};

void add_software_traits(const Machine& machine, Collector& out) {
  const model::Software& software = machine.software;
  out.add("kernel", software.kernel);
  if (const auto* line = software.kernel_command_line.get())
    out.add("kernel command line", common_command_line(*line));
  out.add("distribution", software.distribution);
  out.add("clock source", software.clock_source);
  out.add("virtual machine", software.virtual_machine);
  out.add("container", software.container);
  out.add("product", software.product);
  out.add("BIOS", software.bios_version);
  out.add("NVIDIA driver", software.nvidia_loaded);
  out.add("open NVIDIA modules", software.nvidia_open);
  out.add("CUDA of the driver", software.cuda_driver);
  out.add("OFED", software.ofed);
  out.add("rdma-core", software.rdma_core);
  for (const model::LibraryFile& library : software.libraries) {
    if (!library.version.empty())
      out.add("library " + library.path.substr(0, library.path.find(".so")), library.version);
  }
  if (const auto* modules = software.modules.get()) {
    const std::set<std::string_view> loaded(modules->begin(), modules->end());
    for (const std::string_view module : kModules) {
      out.add("module " + std::string(module),
              std::string(loaded.contains(module) ? "loaded" : "not loaded"));
    }
  }
  if (const model::Limit* limit = software.memlock.get()) {
    out.add("locked memory limit", limit->soft ? in_words(Bytes{*limit->soft}) : std::string("unlimited"));
  }
  out.add("open files limit", software.open_files);
  if (const Bytes* size = software.shm_size.get()) out.add("/dev/shm size", whole_gibibytes(*size));
  out.add("fabric manager running", software.fabric_manager_running);
  for (const model::Setting& setting : software.settings) {
    if (setting.name.starts_with("NCCL_") || setting.name.starts_with("UCX_")) {
      out.add("setting " + setting.name, setting.value);
    }
  }
  if (const auto* mode = machine.pci.iommu.get()) {
    const std::array<const char*, 3> words = {"off", "passthrough", "translated"};
    out.add("IOMMU", std::string(words[static_cast<std::size_t>(*mode) % words.size()]));
  }
}

}  // namespace

Traits traits_of(const Machine& machine) {
  Traits traits;
  traits.node = machine.name;
  Collector out(traits);
  add_cpu_traits(machine, out);
  add_gpu_traits(machine, out);
  add_network_traits(machine, out);
  add_software_traits(machine, out);
  std::ranges::sort(traits.values);
  const auto [first, last] =
      std::ranges::unique(traits.values, {}, &std::pair<std::string, std::string>::first);
  traits.values.erase(first, last);
  traits.values.shrink_to_fit();
  return traits;
}

}  // namespace angio::diagnose
