#include "cost/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "knowledge/hardware_cost.hpp"
#include "knowledge/versions.hpp"

namespace angio::cost {
namespace {

constexpr std::uint32_t kNodeGpus = 16;  // the most behind the switches of one node: DGX-2
constexpr std::uint32_t kRackGpus = 72;  // of one NVLink domain of GB200 NVL72 and GB300 NVL72

int capability_number(std::string_view gpu) {
  const std::string_view text = knowledge::capability_of(gpu);  // "9.0"
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return 0;
  int major = 0;
  int minor = 0;
  std::from_chars(text.data(), text.data() + dot, major);
  std::from_chars(text.data() + dot + 1, text.data() + text.size(), minor);
  return major * 10 + minor;
}

Fabric fabric_of(std::string_view word) {
  if (word == "nvswitch") return Fabric::kNvSwitch;
  if (word == "mesh") return Fabric::kNvLinkMesh;
  if (word == "xgmi") return Fabric::kXgmi;
  return word == "pcie" ? Fabric::kPcie : Fabric::kUnknown;
}

// Of a mesh, a part of the GPUs has a part of the links; through a switch each keeps all of its own.
std::uint32_t links_among(const knowledge::CostMachine& machine, std::uint32_t gpus) {
  const bool mesh = machine.fabric == "mesh" || machine.fabric == "xgmi";
  if (!mesh || gpus >= machine.gpus) return machine.links;
  const double part = static_cast<double>(gpus - 1) / static_cast<double>(machine.gpus - 1);
  return static_cast<std::uint32_t>(std::ceil(machine.links * part));
}

void set_links(Platform& platform, const knowledge::CostMachine& machine) {
  platform.fabric = fabric_of(machine.fabric);
  platform.links = platform.gpus > 1 ? links_among(machine, platform.gpus) : machine.links;
  platform.link_each = {machine.link_gbs * 1e9};
  platform.link = platform.link_each * platform.links;
  platform.nvls = platform.fabric == Fabric::kNvSwitch && platform.capability >= 90;
  platform.host_link = {machine.host_gbs * 1e9};
  platform.links_known = false;
}

// A part of the GPUs uses its part of the NICs: each takes those that are nearest.
void set_nics(Platform& platform, const knowledge::CostMachine& machine) {
  const std::uint32_t gpus = std::min(platform.gpus, machine.gpus);
  const std::uint32_t share = machine.nics * gpus / std::max(machine.gpus, 1U);
  platform.nics = machine.nics == 0 ? 0 : std::max(share, 1U);
  platform.nic_rate = {machine.nic_gbps * 1e9};
  platform.nic_kind = machine.nic_kind;
  platform.nics_known = false;
}

void assume(Platform& platform, const knowledge::CostMachine& machine, std::uint32_t nodes) {
  const std::string joined = platform.links == 0
                                 ? "PCIe alone"
                                 : fmt::format("{} links of {:g} GB/s", platform.links, machine.link_gbs);
  platform.assumptions.push_back(fmt::format(
      "The GPUs of a node are taken to be joined by {}, as in most nodes of {}.", joined, machine.match));
  if (nodes > 1 && platform.domain == 0)
    platform.assumptions.push_back(
        fmt::format("Each node is taken to use {} {} of {:g} Gb/s for these GPUs: the result does not say.",
                    platform.nics, platform.nics == 1 ? "NIC" : "NICs", machine.nic_gbps));
}

}  // namespace

std::optional<Platform> platform_of_name(std::string_view gpu, std::uint32_t gpus_of_node,
                                         std::uint32_t nodes) {
  const knowledge::CostMachine* machine = knowledge::find_cost_machine(gpu);
  if (machine == nullptr) return std::nullopt;
  Platform platform;
  platform.name = gpu;
  platform.gpus = std::max(gpus_of_node, 1U);
  platform.capability = capability_number(gpu);
  set_links(platform, *machine);
  set_nics(platform, *machine);
  const bool rack = machine->match == "GB200" || machine->match == "GB300";
  if (rack && nodes > 1) {
    platform.domain = kRackGpus;
    platform.assumptions.emplace_back("The nodes are taken to be trays of one NVL72 rack, joined by NVLink.");
  }
  assume(platform, *machine, nodes);
  platform.id = platform_id(platform);
  return platform;
}

std::string_view node_link_of(const Platform& platform) {
  const int major = platform.capability / 10;
  switch (platform.fabric) {
    case Fabric::kNvSwitch:
      if (major >= 10 && (platform.domain > 0 || platform.gpus > kNodeGpus)) return "domain-10";
      return major >= 10  ? "nvswitch-10"
             : major == 9 ? "nvswitch-9"
             : major == 8 ? "nvswitch-8"
                          : "nvswitch-7";
    case Fabric::kNvLinkMesh:
      return major >= 9 ? "mesh-9" : major == 8 ? "mesh-8" : "mesh-7";
    case Fabric::kPcie:
      return "pcie";
    case Fabric::kXgmi:
      return "xgmi";
    default:
      return {};
  }
}

std::string_view network_link_of(const Platform& platform) {
  if (platform.nics == 0) return {};
  if (platform.fabric == Fabric::kHost || platform.fabric == Fabric::kUnknown) return {};
  if (platform.nic_kind == "EFA") return "efa";
  if (platform.nic_kind == "Slingshot") return "slingshot";
  return platform.nic_kind == "TCP" ? "tcp" : "infiniband";
}

std::string platform_id(const Platform& platform) {
  std::string id(node_link_of(platform));
  const std::string_view network = network_link_of(platform);
  if (!id.empty() && !network.empty()) id += "+";
  return id.append(network);
}

}  // namespace angio::cost
