// Machines for tests of rules, built in code: healthy ones that a test then breaks in one thing.
// Not a simulator: only what a probe would have filled in on such a host.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "diagnose/doctor.hpp"
#include "model/machine.hpp"
#include "model/rdma_host.hpp"

namespace angio::test {

using model::Gpu;
using model::Machine;
using model::Observed;
using model::PciDevice;
using model::Source;

// Places of every test machine: 1 is "/sys/test", leaves name the attribute.
inline Source at(const char* leaf) {
  return {1, 0, leaf};
}
template <typename T>
Observed<T> known(T value, const char* leaf = "value") {
  return Observed<T>::known(std::move(value), at(leaf));
}
template <typename T>
Observed<T> absent() {
  return Observed<T>::absent(at("absent"));
}
template <typename T>
void deny(Observed<T>& value) {
  value = Observed<T>::unreadable(model::Reason::kDenied, at("denied"));
}
template <typename T>
void set(Observed<T>& value, T now) {
  value = Observed<T>::known(std::move(now), at("changed"));
}
template <typename T>
void forget(Observed<T>& value) {
  value = Observed<T>::absent(at("absent"));
}

inline CpuSet cpu_range(std::uint32_t first, std::uint32_t count) {
  CpuSet set;
  for (std::uint32_t cpu = first; cpu < first + count; ++cpu)
    set.insert(cpu);
  return set;
}
inline PciAddress pci(const std::string& text) {
  return parse_pci_address(text).value_or(PciAddress{});
}
inline model::PciLink link(double gigatransfers, std::uint32_t lanes) {
  return {{gigatransfers * 1e9}, lanes};
}

// `sockets` packages, one NUMA node each, `cores` without SMT, 512 GiB a node.
inline void add_cpus(Machine& machine, std::uint32_t sockets, std::uint32_t cores) {
  machine.cpus.model.architecture = known<std::string>("x86_64", "arch");
  machine.cpus.model.vendor = known<std::string>("GenuineIntel", "vendor");
  machine.cpus.model.name = known<std::string>("Intel(R) Xeon(R) Platinum 8480C", "model name");
  machine.cpus.online = cpu_range(0, sockets * cores);
  machine.cpus.present = known(machine.cpus.online, "present");
  machine.cpus.offline = known(CpuSet(), "offline");
  machine.cpus.isolated = known(CpuSet(), "isolated");
  machine.cpus.nohz_full = known(CpuSet(), "nohz_full");
  machine.cpus.allowed = known(machine.cpus.online, "Cpus_allowed_list");
  machine.cpus.threads_per_core = known(1U, "threads");
  machine.cpus.governor = known<std::string>("performance", "scaling_governor");
  machine.cpus.frequency_driver = known<std::string>("intel_pstate", "scaling_driver");
  for (std::uint32_t socket = 0; socket < sockets; ++socket) {
    const CpuSet cpus = cpu_range(socket * cores, cores);
    machine.cpus.packages.push_back({socket, cpus});
    for (std::uint32_t core = 0; core < cores; ++core) {
      machine.cpus.cores.push_back({socket, core, {}, {}, cpu_range(socket * cores + core, 1)});
    }
    model::NumaNode node;
    node.id = {socket};
    node.cpus = cpus;
    node.memory = known(Bytes{512ULL << 30U}, "MemTotal");
    node.memory_free = known(Bytes{400ULL << 30U}, "MemFree");
    std::vector<std::uint32_t> distances(sockets, 21);
    distances[socket] = 10;
    node.distances = known(distances, "distance");
    machine.numa.nodes.push_back(std::move(node));
  }
  machine.numa.nodes_per_package = known(1U, "nodes");
  machine.numa.zone_reclaim_mode = known(std::int64_t{0}, "zone_reclaim_mode");
  machine.numa.balancing = known(std::int64_t{0}, "numa_balancing");
  machine.numa.transparent_huge_pages = known<std::string>("madvise", "enabled");
}

// Appends a PCI device below `parent`; returns its index. Call in the order of addresses.
inline std::uint32_t add_pci(Machine& machine, const std::string& address,
                             std::optional<std::uint32_t> parent, std::uint32_t class_code,
                             model::PciPort port, std::uint32_t node) {
  PciDevice device;
  device.address = pci(address);
  device.parent = parent;
  device.class_code = class_code;
  device.port = port;
  device.root_complex = parent ? machine.pci.devices[*parent].root_complex : "pci" + address.substr(0, 7);
  device.numa = known(NumaId{node}, "numa_node");
  device.local_cpus = known(machine.numa.nodes[node].cpus, "local_cpulist");
  device.link = known(link(32, 16), "current_link_speed");
  device.link_max = known(link(32, 16), "max_link_speed");
  device.enabled = known(true, "enable");
  device.acs = known(model::AccessControl{}, "config");
  device.max_payload = known(Bytes{256}, "config");
  device.max_payload_supported = known(Bytes{512}, "config");
  device.max_read_request = known(Bytes{4096}, "config");
  device.aer = known(model::AerCounters{}, "aer_dev_correctable");
  machine.pci.devices.push_back(std::move(device));
  return static_cast<std::uint32_t>(machine.pci.devices.size() - 1);
}

inline void add_h100(Machine& machine, std::uint32_t device, std::uint32_t node) {
  machine.pci.devices[device].vendor = 0x10de;
  machine.pci.devices[device].device = 0x2330;
  machine.pci.devices[device].driver = known<std::string>("nvidia", "driver");
  machine.pci.devices[device].largest_bar = known(Bytes{128ULL << 30U}, "resource");
  Gpu gpu;
  gpu.index = static_cast<std::uint32_t>(machine.gpus.size());
  gpu.vendor = model::GpuVendor::kNvidia;
  gpu.pci = device;
  gpu.address = known(machine.pci.devices[device].address, "busid");
  gpu.library_index = known(gpu.index, "index");
  gpu.name = known<std::string>("NVIDIA H100 80GB HBM3", "nvmlDeviceGetName");
  gpu.uuid = known("GPU-" + std::to_string(gpu.index), "uuid");
  gpu.serial = known("165" + std::to_string(gpu.index), "serial");
  gpu.compute_capability = known(model::ComputeCapability{9, 0}, "cc");
  gpu.memory = known(Bytes{80ULL << 30U}, "memory");
  gpu.memory_used = known(Bytes{0}, "memory_used");
  gpu.mig = known(false, "mig");
  gpu.ecc = known(true, "ecc");
  gpu.ecc_uncorrected = known(std::uint64_t{0}, "ecc_uncorrected");
  gpu.remapped_rows = known(std::uint64_t{0}, "remapped_rows");
  gpu.remap_pending = known(false, "remap_pending");
  gpu.remap_failed = known(false, "remap_failed");
  gpu.sm_clock = known(Hertz{1980e6}, "sm_clock");
  gpu.sm_clock_max = known(Hertz{1980e6}, "sm_clock_max");
  gpu.throttle_reasons = known(std::uint64_t{0}, "throttle_reasons");
  gpu.performance_state = known<std::string>("P0", "pstate");
  gpu.power = known(Watts{120}, "power");
  gpu.power_limit = known(Watts{700}, "power_limit");
  gpu.power_limit_default = known(Watts{700}, "power_limit_default");
  gpu.temperature = known(Celsius{35}, "temperature");
  gpu.utilization = known(0U, "utilization");
  gpu.pcie_generation = known(5U, "pcie_generation");
  gpu.pcie_generation_max = known(5U, "pcie_generation_max");
  gpu.pcie_width = known(16U, "pcie_width");
  gpu.pcie_width_max = known(16U, "pcie_width_max");
  gpu.persistence = known(true, "persistence");
  gpu.compute_mode = known<std::string>("default", "compute_mode");
  gpu.pcie_replays = known(std::uint64_t{0}, "pcie_replays");
  gpu.numa = known(NumaId{node}, "numa_node");
  gpu.coherent_link = known(false, "c2c");
  gpu.memory_numa = absent<NumaId>();
  gpu.fabric = absent<model::FabricState>();
  for (std::uint32_t i = 0; i < 18; ++i) {
    model::GpuLink nvlink;
    nvlink.index = i;
    nvlink.state = model::LinkState::kActive;
    nvlink.version = known(4U, "nvlink_version");
    nvlink.peer_kind = model::PeerKind::kSwitch;
    nvlink.crc_errors = known(std::uint64_t{0}, "crc");
    nvlink.replays = known(std::uint64_t{0}, "replays");
    nvlink.recoveries = known(std::uint64_t{0}, "recoveries");
    gpu.links.push_back(std::move(nvlink));
  }
  machine.gpus.push_back(std::move(gpu));
}

inline void add_hca(Machine& machine, std::uint32_t device, std::uint32_t node) {
  machine.pci.devices[device].vendor = 0x15b3;
  machine.pci.devices[device].device = 0x1021;
  machine.pci.devices[device].driver = known<std::string>("mlx5_core", "driver");
  model::RdmaDevice hca;
  hca.name = "mlx5_" + std::to_string(machine.rdma.size());
  hca.pci = device;
  hca.address = known(machine.pci.devices[device].address, "address");
  hca.firmware = known<std::string>("28.43.2026", "fw_ver");
  hca.board_id = known<std::string>("MT_0000000838", "board_id");
  hca.hca_type = known<std::string>("MT4129", "hca_type");
  hca.node_guid = known("a088:c203:0000:000" + std::to_string(machine.rdma.size()), "node_guid");
  hca.node_type = known<std::string>("1: CA", "node_type");
  hca.numa = known(NumaId{node}, "numa_node");
  model::RdmaPort port;
  port.state = known<std::string>("ACTIVE", "state");
  port.physical_state = known<std::string>("LinkUp", "phys_state");
  port.rate = known(BitsPerSecond{400e9}, "rate");
  port.lanes = known(4U, "rate");
  port.speed_name = known<std::string>("NDR", "rate");
  port.link_layer = model::LinkLayer::kInfiniBand;
  port.lid = known(Lid{17}, "lid");
  port.sm_lid = known(Lid{1}, "sm_lid");
  port.active_mtu = known(Bytes{4096}, "active_mtu");
  port.max_mtu = known(Bytes{4096}, "max_mtu");
  for (const char* name : {"symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors",
                           "port_xmit_discards", "port_xmit_wait"}) {
    port.counters[name] = known(std::uint64_t{0}, name);
  }
  hca.ports.push_back(std::move(port));
  machine.rdma.push_back(std::move(hca));
}

inline void add_software(Machine& machine) {
  model::Software& software = machine.software;
  software.hostname = known(machine.name, "hostname");
  software.kernel = known<std::string>("5.15.0-1053-nvidia", "osrelease");
  software.kernel_command_line = known<std::string>("BOOT_IMAGE=/vmlinuz iommu=pt", "cmdline");
  software.distribution = known<std::string>("Ubuntu 22.04.4 LTS", "os-release");
  software.clock_source = known<std::string>("tsc", "current_clocksource");
  software.virtual_machine = absent<std::string>();
  software.container = absent<std::string>();
  software.product = known<std::string>("NVIDIA DGX H100", "product_name");
  software.bios_version = known<std::string>("1.6.7", "bios_version");
  software.nvidia_loaded = known<std::string>("570.86.15", "version");
  software.nvidia_on_disk = known<std::string>("570.86.15", "modinfo");
  software.nvidia_open = known(true, "version");
  software.nvml_error = absent<std::string>();
  software.nvml_driver = known<std::string>("570.86.15", "nvml");
  software.cuda_driver = known(12080U, "cuda");
  software.ofed = known<std::string>("inbox", "ofed");
  software.rdma_core = known<std::string>("50.0", "rdma_core");
  software.libraries = {
      {"libcuda.so.1", "/usr/lib/libcuda.so.570.86.15", "570.86.15", at("libcuda")},
      {"libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.570.86.15", "570.86.15", at("libnvidia-ml")},
      {"libnccl.so.2", "/usr/lib/libnccl.so.2.26.2", "2.26.2", at("libnccl")}};
  software.modules = known<std::vector<std::string>>(
      {"ib_core", "ib_uverbs", "mlx5_core", "mlx5_ib", "nvidia", "nvidia_peermem", "nvidia_uvm"}, "modules");
  software.memlock = known(model::Limit{}, "memlock");
  software.open_files = known(model::Limit{1048576, 1048576}, "nofile");
  software.shm_size = known(Bytes{1007ULL << 30U}, "shm");
  software.shm_free = known(Bytes{1007ULL << 30U}, "shm");
  software.fabric_manager_running = known(true, "fabricmanager");
}

// Interrupts on the adapter's own node, relaxed ordering allowed, ARP as rails need it, no mounts.
inline void add_rdma_host(Machine& machine) {
  auto host = std::make_shared<model::RdmaHost>();
  for (const model::RdmaDevice& device : machine.rdma) {
    model::RdmaDeviceFacts facts;
    facts.gid_slots = {known(256U, "gids")};
    facts.traffic_class = absent<std::uint32_t>();
    facts.relaxed_ordering = known(true, "config");
    facts.interrupts = known(57U, "msi_irqs");
    const NumaId node = device.numa.value_or({0});
    const CpuSet& near = machine.numa.nodes[node.value].cpus;
    const std::vector<std::uint32_t> cpus = near.members();
    for (std::uint32_t i = 0; i < 16; ++i) {
      CpuSet one;
      one.insert(cpus[i % cpus.size()]);
      facts.first_interrupts.push_back({100 + i, known(one, "smp_affinity_list")});
    }
    host->devices.push_back(std::move(facts));
  }
  for (std::size_t i = 0; i < machine.networks.size(); ++i) {
    model::NetDeviceFacts facts;
    facts.arp_ignore = known(std::int64_t{1}, "arp_ignore");
    facts.arp_announce = known(std::int64_t{2}, "arp_announce");
    facts.rp_filter = known(std::int64_t{2}, "rp_filter");
    host->interfaces.push_back(std::move(facts));
  }
  host->sysctls.emplace("net.core.rmem_max", known<std::string>("16777216", "rmem_max"));
  host->mounts = known(std::vector<model::NetworkMount>{}, "mountinfo");
  machine.rdma_host = std::move(host);
}

// To change one thing of it: machines share theirs otherwise.
inline model::RdmaHost& rdma_host(Machine& machine) {
  auto host = std::make_shared<model::RdmaHost>(machine.rdma_host ? *machine.rdma_host : model::RdmaHost());
  model::RdmaHost& changed = *host;
  machine.rdma_host = std::move(host);
  return changed;
}

// Two sockets, two nodes, eight H100 SXM, eight NDR HCAs; each GPU shares a PCIe switch with one HCA.
inline Machine dgx_h100(const std::string& name = "gpu-a") {
  Machine machine;
  machine.name = name;
  machine.origin = "test";
  machine.places.add("/sys/test");
  add_cpus(machine, 2, 56);
  machine.pci.iommu = known(model::IommuMode::kPassthrough, "iommu");
  const char* buses[] = {"1", "4", "5", "6", "9", "b", "c", "d"};
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t node = i / 4;
    const std::string bus = std::string("0000:") + buses[i];
    using enum model::PciPort;
    const auto root = add_pci(machine, bus + "0:01.0", {}, 0x060400, kRootPort, node);
    const auto upstream = add_pci(machine, bus + "1:00.0", root, 0x060400, kSwitchUpstream, node);
    const auto gpu_port = add_pci(machine, bus + "2:00.0", upstream, 0x060400, kSwitchDownstream, node);
    const auto hca_port = add_pci(machine, bus + "2:01.0", upstream, 0x060400, kSwitchDownstream, node);
    add_h100(machine, add_pci(machine, bus + "3:00.0", gpu_port, 0x030200, kEndpoint, node), node);
    add_hca(machine, add_pci(machine, bus + "4:00.0", hca_port, 0x020700, kEndpoint, node), node);
  }
  for (Gpu& gpu : machine.gpus)
    gpu.p2p.assign(8, known(model::P2pStatus::kOk, "p2p"));
  add_software(machine);
  add_rdma_host(machine);
  return machine;
}

inline model::Gid gid_entry(std::uint32_t index, const std::string& text, const std::string& type,
                            const std::string& netdev = {}) {
  model::Gid one;
  one.index = index;
  one.gid = text;
  if (!type.empty()) one.type = known(type, "types");
  if (type.empty())
    one.type = Observed<std::string>::unreadable(model::Reason::kFailed, at("types"), 22);  // EINVAL
  if (!netdev.empty()) one.netdev = known(netdev, "ndevs");
  return one;
}

// The table mlx5 makes of one IPv4 address: link-local and IPv4, each as version 1 and 2.
inline std::vector<model::Gid> mlx5_gids(std::uint32_t rail, std::uint32_t host, const std::string& netdev) {
  constexpr const char* kLocal = "fe80:0000:0000:0000:ba59:9fff:fe00:0001";
  char address[] = "0000:0000:0000:0000:0000:ffff:0a00:0000";
  constexpr const char* kDigits = "0123456789abcdef";
  address[32] = kDigits[(rail >> 4U) & 15U];
  address[33] = kDigits[rail & 15U];
  address[37] = kDigits[(host >> 4U) & 15U];
  address[38] = kDigits[host & 15U];
  return {gid_entry(0, kLocal, "IB/RoCE v1", netdev), gid_entry(1, kLocal, "RoCE v2", netdev),
          gid_entry(2, address, "IB/RoCE v1", netdev), gid_entry(3, address, "RoCE v2", netdev)};
}

// The same node on RoCE: rail N is mlx5_N, interface rdmaN, address 10.N.0.HOST/24; PFC on priority 3, which
// NCCL_IB_TC=106 rides in.
inline Machine dgx_roce(const std::string& name = "gpu-a", std::uint32_t host = 5) {
  Machine machine = dgx_h100(name);
  for (std::uint32_t i = 0; i < 8; ++i) {
    model::RdmaDevice& device = machine.rdma[i];
    model::RdmaPort& port = device.ports[0];
    model::NetDevice netdev;
    netdev.name = "rdma" + std::to_string(i);
    netdev.pci = device.pci;
    netdev.mtu = known(9000U, "mtu");
    netdev.state = known<std::string>("up", "operstate");
    netdev.kind = known<std::string>("physical", "type");
    netdev.addresses = {"10." + std::to_string(i) + ".0." + std::to_string(host) + "/24"};
    netdev.qos = {{"qos/trust", "dscp"}, {"qos/pfc", "0,0,0,1,0,0,0,0"}};
    device.netdevs = {netdev.name};
    port.link_layer = model::LinkLayer::kEthernet;
    port.lid = known(Lid{0}, "lid");
    port.gids = mlx5_gids(i, host, netdev.name);
    machine.networks.push_back(std::move(netdev));
  }
  machine.software.settings.push_back({"NCCL_IB_TC", "106", at("environment")});
  add_rdma_host(machine);
  return machine;
}

// No GPU, no RDMA, one node: a desktop or a small server.
inline Machine plain_host() {
  Machine machine;
  machine.name = "desk";
  machine.origin = "test";
  machine.places.add("/sys/test");
  add_cpus(machine, 1, 8);
  add_software(machine);
  machine.software.nvidia_loaded = absent<std::string>();
  machine.software.nvidia_on_disk = absent<std::string>();
  machine.software.nvml_driver = absent<std::string>();
  machine.software.cuda_driver = absent<std::uint32_t>();
  machine.software.libraries.clear();
  machine.software.modules = known<std::vector<std::string>>({"e1000e", "ext4"}, "modules");
  return machine;
}

// ---- what one rule said of a machine

inline std::vector<model::Finding> findings_of(const Machine& machine, const std::string& rule) {
  std::vector<model::Finding> found = diagnose::diagnose(machine).findings;
  std::erase_if(found, [&](const model::Finding& finding) { return finding.rule != rule; });
  return found;
}
inline std::vector<model::Undecided> undecided_of(const Machine& machine, const std::string& rule) {
  std::vector<model::Undecided> found = diagnose::diagnose(machine).undecided;
  std::erase_if(found, [&](const model::Undecided& gap) { return gap.rule != rule; });
  return found;
}
inline bool held(const Machine& machine, const std::string& rule) {
  return std::ranges::count(diagnose::diagnose(machine).held, rule) == 1;
}
inline bool not_applicable(const Machine& machine, const std::string& rule) {
  return std::ranges::count(diagnose::diagnose(machine).not_applicable, rule) == 1;
}

}  // namespace angio::test
