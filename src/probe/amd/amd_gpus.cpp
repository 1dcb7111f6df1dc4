#include "probe/amd/amd_gpus.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "probe/amd/kfd_topology.hpp"
#include "probe/nvml/gpu_list.hpp"
#include "probe/place.hpp"
#include "probe/sysfs/locality.hpp"

namespace angio::probe {
namespace {

constexpr const char* kDrm = "/sys/class/drm";

// "card0", not "card0-DP-1" (a connector) nor "renderD128".
bool is_card(std::string_view name) {
  constexpr std::string_view kPrefix = "card";
  return name.starts_with(kPrefix) && parse_integer<std::uint32_t>(name.substr(kPrefix.size())).has_value();
}

bool is_amd(const Place& card) {
  return card.text("device/vendor").value_or({}) == "0x1002";  // pci.ids
}

model::Gpu* find_gpu(model::Machine& machine, const std::optional<PciAddress>& address) {
  if (!address) return nullptr;
  const auto found =
      std::ranges::find_if(machine.gpus, [&](const model::Gpu& gpu) { return gpu.address.is(*address); });
  return found == machine.gpus.end() ? nullptr : &*found;
}

void describe_card(const Place& card, model::Gpu& gpu) {
  const auto bytes = [](std::string_view text) -> std::optional<Bytes> {
    const auto value = parse_integer<std::uint64_t>(text);
    return value ? std::optional(Bytes{*value}) : std::nullopt;
  };
  gpu.name = card.text("device/product_name");
  gpu.uuid = card.text("device/unique_id");
  gpu.serial = card.text("device/serial_number");
  gpu.memory = card.parsed("device/mem_info_vram_total", bytes);
  gpu.memory_used = card.parsed("device/mem_info_vram_used", bytes);
  gpu.utilization = card.integer<std::uint32_t>("device/gpu_busy_percent");
  gpu.pcie_replays = card.integer<std::uint64_t>("device/pcie_replay_count");
  gpu.partition = card.text("device/current_compute_partition");
  if (!gpu.pci) gpu.numa = own_numa(card, "device/numa_node");  // PCI was not seen
}

// KFD lists a link only while it is up.
void describe_xgmi(const std::map<std::uint32_t, KfdNode>& nodes, const KfdNode& node, model::Gpu& gpu) {
  for (const KfdLink& link : node.links) {
    const auto other = nodes.find(link.to);
    if (!link.xgmi || other == nodes.end()) continue;
    model::GpuLink& lane = gpu.links.emplace_back();
    lane.index = static_cast<std::uint32_t>(gpu.links.size() - 1);
    lane.state = model::LinkState::kActive;
    const model::Source source{node.place, 0, ""};
    const std::optional<PciAddress>& peer = other->second.address;
    lane.peer_kind = peer ? model::PeerKind::kGpu : model::PeerKind::kCpu;
    lane.peer = peer ? Observed<PciAddress>::known(*peer, source) : Observed<PciAddress>::absent(source);
  }
}

template <typename Do>
void for_each_card(const host::Root& root, model::Machine& machine, Do what) {
  const host::Read<host::Names> names = root.list(kDrm);
  if (!names) return;
  for (const std::string& name : *names) {
    if (!is_card(name)) continue;
    const Place card(root, machine, std::string(kDrm) + "/" + name);
    if (is_amd(card)) what(card, address_of(card));
  }
}

}  // namespace

void add_amd_gpus(const host::Root& root, model::Machine& machine) {
  for_each_card(root, machine, [&](const Place&, const Observed<PciAddress>& address) {
    if (!address.is_known() && !machine.pci.devices.empty()) return;
    const bool known = address.is_known() && find_gpu(machine, *address.get()) != nullptr;
    if (known || has_room_for_gpu(machine)) gpu_at(machine, address, model::GpuVendor::kAmd);
  });
}

void describe_amd_gpus(const host::Root& root, model::Machine& machine) {
  for_each_card(root, machine, [&](const Place& card, const Observed<PciAddress>& address) {
    model::Gpu* gpu = address.is_known() ? find_gpu(machine, *address.get()) : nullptr;
    const bool only = !address.is_known() && machine.gpus.size() == 1 && !machine.gpus[0].address.is_known();
    if (only) gpu = machine.gpus.data();
    if (gpu != nullptr) describe_card(card, *gpu);
  });
  const std::map<std::uint32_t, KfdNode> nodes = read_kfd_topology(root, machine);
  for (const auto& [number, node] : nodes) {
    if (model::Gpu* gpu = find_gpu(machine, node.address)) describe_xgmi(nodes, node, *gpu);
  }
}

}  // namespace angio::probe
