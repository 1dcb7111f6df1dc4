// platform_of(): what of a Machine a collective's cost depends on.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text.hpp"
#include "cost/platform.hpp"
#include "knowledge/hardware_cost.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/versions.hpp"

namespace angio::cost {
namespace {

using model::DeviceKind;
using model::Gpu;
using model::Machine;
using model::PathClass;

struct Nic {
  model::DeviceRef device;
  BitsPerSecond rate;
  std::optional<std::uint32_t> pci;
  std::string kind;
};

// The machine with a name for every GPU that has none.
Machine with_names(const Machine& machine, std::string_view name) {
  Machine named = machine;
  for (Gpu& gpu : named.gpus)
    if (gpu.name.get() == nullptr && !name.empty())
      gpu.name = model::Observed<std::string>::known(std::string(name), {});
  return named;
}

std::string capability_text(const Gpu& gpu) {
  if (const auto* seen = gpu.compute_capability.get()) return fmt::format("{}.{}", seen->major, seen->minor);
  const std::string* name = gpu.name.get();
  return std::string(name == nullptr ? std::string_view() : knowledge::capability_of(*name));
}

int capability_of(const Gpu& gpu) {
  const std::string text = capability_text(gpu);
  int major = 0;
  int minor = 0;
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) return 0;
  std::from_chars(text.data(), text.data() + dot, major);
  std::from_chars(text.data() + dot + 1, text.data() + text.size(), minor);
  return major * 10 + minor;
}

// One link of this GPU, one direction: by the version it states, by its generation, by its model.
BytesPerSecond link_rate(const Gpu& gpu) {
  for (const model::GpuLink& link : gpu.links) {
    const std::uint32_t* version = link.version.get();
    if (version == nullptr || link.state == model::LinkState::kInactive) continue;
    if (const auto rate = knowledge::nvlink_rate(*version)) return *rate;
  }
  const std::string* name = gpu.name.get();
  if (name != nullptr)
    if (const auto* machine = knowledge::find_cost_machine(*name); machine != nullptr && machine->links > 0)
      return {machine->link_gbs * 1e9};
  const auto* architecture = knowledge::find_architecture(capability_text(gpu));
  if (architecture == nullptr || architecture->nvlink_version == 0) return {};
  return knowledge::nvlink_rate(architecture->nvlink_version).value_or(BytesPerSecond{});
}

std::uint32_t links_between(const Machine& machine, std::uint32_t a, std::uint32_t b) {
  const model::Path path = path_between(machine, {DeviceKind::kGpu, a}, {DeviceKind::kGpu, b});
  if (path.kind != PathClass::kNvLink) return 0;
  return std::max(path.links, 1U);
}

// Every GPU reached from the first over NVLinks alone: else a ring must leave them.
bool all_joined(const Machine& machine, std::uint32_t gpus) {
  std::vector<bool> seen(gpus);
  std::vector<std::uint32_t> open{0};
  seen[0] = true;
  for (std::size_t i = 0; i < open.size(); ++i)
    for (std::uint32_t other = 0; other < gpus; ++other)
      if (!seen[other] && links_between(machine, open[i], other) > 0) {
        seen[other] = true;
        open.push_back(other);
      }
  return open.size() == gpus;
}

constexpr std::uint32_t kMostLinks = 18;  // of any GPU until NVLink 5

// A switch shows the same count to each of the others; a mesh divides its links among them. More than a GPU
// has: a switch, whatever its name.
bool behind_switch(const Machine& machine, std::uint32_t gpus) {
  const Gpu& first = machine.gpus.front();
  for (const model::GpuLink& link : first.links)
    if (link.peer_kind == model::PeerKind::kSwitch) return true;
  const std::uint32_t pair = links_between(machine, 0, 1);
  for (std::uint32_t other = 1; other < gpus; ++other)
    if (links_between(machine, 0, other) != pair) return false;
  if (pair * (gpus - 1) > kMostLinks) return true;
  const std::string* name = first.name.get();
  const auto* built = name == nullptr ? nullptr : knowledge::find_gpu(*name);
  return built != nullptr && built->nvswitch && pair * 2 > built->nvlinks;
}

// Whether the source says which links there are: NCCL's topology files of clouds leave them to NVML.
bool tells_links(const Machine& machine) {
  if (machine.stated_paths) return true;
  for (const Gpu& gpu : machine.gpus) {
    if (!gpu.links.empty() || !gpu.linked.empty()) return true;
    const std::string* name = gpu.name.get();
    const auto* built = name == nullptr ? nullptr : knowledge::find_gpu(*name);
    if (built != nullptr && (built->nvlinks == 0 || built->nvlink_optional)) return true;
  }
  return false;
}

// NVLinks of the GPU that has the fewest to the others: the ring is as quick as that.
std::uint32_t fewest_links(const Machine& machine, std::uint32_t gpus, bool through_switch) {
  std::uint32_t fewest = 0;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    std::uint32_t sum = 0;
    for (std::uint32_t other = 0; other < gpus; ++other) {
      if (other == gpu) continue;
      const std::uint32_t links = links_between(machine, gpu, other);
      sum = through_switch ? std::max(sum, links) : sum + links;
    }
    fewest = gpu == 0 ? sum : std::min(fewest, sum);
  }
  return fewest;
}

// Of a device and the bridges above it: the narrowest link as it is now. The generation of an idle GPU goes
// down and comes back, so what the link can is asked for that, and what it is for the width.
BytesPerSecond narrowest(const Machine& machine, std::uint32_t device, bool may_sleep) {
  BytesPerSecond least;
  for (const std::uint32_t index : chain_of(machine.pci, device)) {
    const model::PciDevice& each = machine.pci.devices[index];
    const model::PciLink* now = each.link.get();
    if (now == nullptr || now->lanes == 0) continue;
    model::PciLink link = *now;
    const model::PciLink* most = each.link_max.get();
    if (may_sleep && most != nullptr) link.speed = std::max(link.speed, most->speed);
    const auto rate = knowledge::pcie_rate(link);
    if (rate && (least.value == 0 || *rate < least)) least = *rate;
  }
  return least;
}

BytesPerSecond host_link_of(const Machine& machine, const Gpu& gpu) {
  const std::string* name = gpu.name.get();
  const auto* standard = name == nullptr ? nullptr : knowledge::find_cost_machine(*name);
  const bool c2c = gpu.coherent_link.get() != nullptr && *gpu.coherent_link.get();
  if (c2c && standard != nullptr) return {standard->host_gbs * 1e9};
  BytesPerSecond least = gpu.pci && *gpu.pci < machine.pci.devices.size() ? narrowest(machine, *gpu.pci, true)
                                                                          : BytesPerSecond{};
  const std::uint32_t* generation = gpu.pcie_generation_max.get();
  if (generation == nullptr) generation = gpu.pcie_generation.get();
  const std::uint32_t* width = gpu.pcie_width.get();
  if (generation != nullptr && width != nullptr && *width > 0) {
    const auto speed = knowledge::pcie_speed(*generation);
    const auto rate = speed ? knowledge::pcie_rate({*speed, *width}) : std::nullopt;
    if (rate && (least.value == 0 || *rate < least)) least = *rate;
  }
  if (least.value > 0) return least;
  return standard == nullptr ? BytesPerSecond{} : BytesPerSecond{standard->host_gbs * 1e9};
}

std::string kind_of(const Machine& machine, const model::RdmaDevice& device, const model::RdmaPort& port) {
  if (port.link_layer == model::LinkLayer::kInfiniBand) return "InfiniBand";
  const bool amazon = device.pci && *device.pci < machine.pci.devices.size() &&
                      machine.pci.devices[*device.pci].vendor == 0x1d0f;
  if (amazon || device.name.starts_with("efa") || device.name.starts_with("rdmap")) return "EFA";
  return port.link_layer == model::LinkLayer::kEthernet ? "RoCE" : "";
}

void add_rdma(const Machine& machine, std::vector<Nic>& nics) {
  for (std::uint32_t index = 0; index < machine.rdma.size(); ++index) {
    const model::RdmaDevice& device = machine.rdma[index];
    for (const model::RdmaPort& port : device.ports) {
      const std::string* state = port.state.get();
      const BitsPerSecond* rate = port.rate.get();
      if ((state != nullptr && !state->contains("ACTIVE")) || rate == nullptr) continue;
      nics.push_back({{DeviceKind::kRdma, index}, *rate, device.pci, kind_of(machine, device, port)});
    }
  }
}

void add_networks(const Machine& machine, std::vector<Nic>& nics) {
  for (std::uint32_t index = 0; index < machine.networks.size(); ++index) {
    const model::NetDevice& device = machine.networks[index];
    const std::string* kind = device.kind.get();
    const BitsPerSecond* speed = device.speed.get();
    const bool* carrier = device.carrier.get();
    const bool physical = kind == nullptr ? device.pci.has_value() : *kind == "physical";
    if (!physical || speed == nullptr || speed->value <= 0 || (carrier != nullptr && !*carrier)) continue;
    nics.push_back({{DeviceKind::kNetwork, index}, *speed, device.pci, "TCP"});
  }
}

// RDMA where there is any, else plain interfaces; without those of management, which are far slower.
std::vector<Nic> nics_of(const Machine& machine) {
  std::vector<Nic> nics;
  add_rdma(machine, nics);
  if (nics.empty()) add_networks(machine, nics);
  BitsPerSecond most;
  for (const Nic& nic : nics)
    most = std::max(most, nic.rate);
  std::erase_if(nics, [&](const Nic& nic) { return nic.rate.value * 2 < most.value; });
  return nics;
}

struct Nearest {
  std::set<std::size_t> nics;  // of any GPU's nearest
  PathClass farthest = PathClass::kSelf;
};

Nearest nearest_nics(const Machine& machine, std::uint32_t gpus, const std::vector<Nic>& nics) {
  Nearest found;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    std::vector<PathClass> ways;
    for (const Nic& nic : nics)
      ways.push_back(path_between(machine, {DeviceKind::kGpu, gpu}, nic.device).kind);
    const auto best = std::ranges::min_element(ways);
    if (best == ways.end()) continue;
    found.farthest = std::max(found.farthest, *best);
    for (std::size_t i = 0; i < ways.size(); ++i)
      if (ways[i] == *best) found.nics.insert(i);
  }
  return found;
}

// A matrix or a topology file tells no rate: those of the standard machine of that name.
void take_standard_nics(Platform& platform) {
  const auto standard = platform_of_name(platform.name, platform.gpus, 2);
  if (!standard || platform.gpus == 0) return;
  platform.nics = standard->nics;
  platform.nic_rate = standard->nic_rate;
  platform.nic_kind = standard->nic_kind;
  platform.nics_known = false;
  platform.assumptions.push_back(standard->assumptions.back());
}

void set_nics(Platform& platform, const Machine& machine) {
  const std::vector<Nic> all = nics_of(machine);
  if (all.empty()) {
    if (machine.imported) take_standard_nics(platform);
    return;
  }
  Nearest near = nearest_nics(machine, platform.gpus, all);
  if (near.nics.empty() || near.farthest == PathClass::kUnknown)
    for (std::size_t i = 0; i < all.size(); ++i)
      near.nics.insert(i);
  platform.nics = static_cast<std::uint32_t>(near.nics.size());
  platform.nic_rate = all[*near.nics.begin()].rate;
  platform.nic_kind = all[*near.nics.begin()].kind;
  for (const std::size_t index : near.nics) {
    const Nic& nic = all[index];
    platform.nic_rate = std::min(platform.nic_rate, nic.rate);
    if (!nic.pci || *nic.pci >= machine.pci.devices.size()) continue;
    const BytesPerSecond host = narrowest(machine, *nic.pci, false);
    if (host.value > 0 && (platform.nic_host.value == 0 || host < platform.nic_host))
      platform.nic_host = host;
  }
  if (near.farthest != PathClass::kSys) return;
  if (const auto* socket = knowledge::find_hardware_cost("socket", "Path", "")) {
    platform.nic_path = {socket->efficiency * 1e9};
    platform.assumptions.emplace_back(
        "A GPU has no NIC at its own socket: the way between the sockets is taken at a figure that "
        "holds for most machines, not at one of this machine.");
  }
}

void set_vendor(Platform& platform, const Machine& machine) {
  const std::string* vendor = machine.cpus.model.vendor.get();
  if (vendor == nullptr) return;
  if (vendor->contains("Intel")) platform.cpu_vendor = "intel";
  if (vendor->contains("AMD")) platform.cpu_vendor = "amd";
  if (vendor->contains("ARM")) platform.cpu_vendor = "arm";
}

// The name's standard machine where the source lists no link: an imported list of GPUs, a driver that is off.
void take_standard_links(Platform& platform, const Machine& machine) {
  if (tells_links(machine)) {
    platform.fabric = Fabric::kPcie;
    return;
  }
  const auto standard = platform_of_name(platform.name, platform.gpus, 1);
  if (!standard) return;
  platform.fabric = standard->fabric;
  platform.links = standard->links;
  platform.link_each = standard->link_each;
  platform.link = standard->link;
  platform.nvls = standard->nvls;
  platform.links_known = false;
  platform.assumptions.insert(platform.assumptions.end(), standard->assumptions.begin(),
                              standard->assumptions.end());
}

// A matrix names no GPU: the number of its links does, as far as it goes.
void guess_generation(Platform& platform) {
  platform.link_each = knowledge::nvlink_rate(4).value_or(BytesPerSecond{});
  if (platform.capability == 0)
    platform.capability = platform.links >= 18 ? 90 : platform.links >= 8 ? 80 : 70;
  platform.links_known = false;
  platform.assumptions.push_back(fmt::format(
      "The source names no GPU: {} links of 25 GB/s are taken, as of NVLink 2 to 4; NVLink 5 has twice that.",
      platform.links));
}

void set_links(Platform& platform, const Machine& machine) {
  const Gpu& first = machine.gpus.front();
  platform.host_link = host_link_of(machine, first);
  for (std::uint32_t gpu = 1; gpu < platform.gpus; ++gpu) {
    const BytesPerSecond host = host_link_of(machine, machine.gpus[gpu]);
    if (host.value > 0) platform.host_link = std::min(platform.host_link, host);
  }
  if (platform.gpus < 2) return;
  if (!all_joined(machine, platform.gpus)) {
    take_standard_links(platform, machine);
    return;
  }
  const bool through_switch = behind_switch(machine, platform.gpus);
  const bool amd = first.vendor == model::GpuVendor::kAmd;
  platform.fabric = through_switch ? Fabric::kNvSwitch : amd ? Fabric::kXgmi : Fabric::kNvLinkMesh;
  platform.links = fewest_links(machine, platform.gpus, through_switch);
  platform.link_each = link_rate(first);
  if (platform.link_each.value <= 0 && !amd) guess_generation(platform);
  platform.link = platform.link_each * platform.links;
  platform.nvls = through_switch && platform.capability >= 90;
}

}  // namespace

Result<Platform> platform_of(const model::Machine& source, std::uint32_t gpus_used,
                             std::string_view gpu_name) {
  const bool nameless =
      !source.gpus.empty() && source.gpus.front().name.get() == nullptr && !gpu_name.empty();
  const Machine named = nameless ? with_names(source, gpu_name) : Machine{};
  const Machine& machine = nameless ? named : source;
  Platform platform;
  const auto present = static_cast<std::uint32_t>(machine.gpus.size());
  platform.gpus = gpus_used == 0 ? present : std::min(gpus_used, present);
  set_vendor(platform, machine);
  if (platform.gpus > 0) {
    const Gpu& first = machine.gpus.front();
    platform.name = first.name.get() == nullptr ? "" : *first.name.get();
    platform.capability = capability_of(first);
    set_links(platform, machine);
  } else {
    platform.fabric = Fabric::kHost;
  }
  set_nics(platform, machine);
  if (platform.gpus == 0 && platform.nics == 0)
    return fail(
        ErrorCode::kNotFound,
        fmt::format("{}: no GPU and no NIC that is up: nothing to expect of a collective", machine.name),
        "take the snapshot on a node of the job, with its driver loaded");
  platform.id = platform_id(platform);
  return platform;
}

}  // namespace angio::cost
