#include "import/hwloc_xml/os_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace angio::import::hwloc_xml {
namespace {

constexpr std::uint32_t kMaxPorts = 4;  // per RDMA device
constexpr std::uint32_t kMaxGids = 16;  // hwloc exports the first few

// enum ib_port_state, in the words of sysfs.
constexpr std::array<std::string_view, 6> kPortStates{"NOP",   "DOWN",   "INIT",
                                                      "ARMED", "ACTIVE", "ACTIVE_DEFER"};

void keep_text(const Draft& draft, const XmlElement& object, std::string_view name,
               model::Observed<std::string>& member) {
  const std::string_view value = info_of(object, name);
  if (!value.empty() && !member.is_known()) member = draft.known(printable(value), object.line);
}

// "nvml3" → 3.
std::optional<std::uint32_t> number_behind(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) return std::nullopt;
  return parse_integer<std::uint32_t>(name.substr(stem.size()));
}

template <typename Device>
void locate(const Draft& draft, const XmlElement& object, const Place& place, Device& device) {
  device.name = printable(object.get("name"));
  device.pci = place.device;
  device.numa = place.numa;
  if (place.device)
    device.address = draft.known(draft.machine.pci.devices[*place.device].address, object.line);
}

void read_port(const Draft& draft, const XmlElement& object, std::uint32_t number,
               model::RdmaDevice& device) {
  const std::string stem = fmt::format("Port{}", number);
  const std::string_view state = info_of(object, stem + "State");
  const std::string_view lid = info_of(object, stem + "LID");
  if (state.empty() && lid.empty()) return;
  model::RdmaPort port;
  port.number = number;
  const auto code = parse_integer<std::uint32_t>(state);
  if (code && *code < kPortStates.size())
    port.state = draft.known(std::string(kPortStates[*code]), object.line);
  if (const auto value = parse_integer<std::uint16_t>(lid, 16))
    port.lid = draft.known(Lid{*value}, object.line);
  for (std::uint32_t i = 0; i < kMaxGids; ++i) {
    const std::string_view gid = info_of(object, fmt::format("{}GID{}", stem, i));
    if (!gid.empty()) port.gids.push_back({i, printable(gid), {}, {}});
  }
  device.ports.push_back(std::move(port));
}

}  // namespace

void take_gpu_facts(const Draft& draft, const XmlElement& object, GpuFacts& facts) {
  const std::string_view name = object.get("name");
  const bool compute = name.starts_with("cuda") || name.starts_with("nvml") || name.starts_with("rsmi") ||
                       name.starts_with("ve") || info_of(object, "OpenCLDeviceType") == "GPU";
  if (!compute) return;
  facts.seen = true;
  model::Gpu& gpu = facts.gpu;
  keep_text(draft, object, "GPUModel", gpu.name);
  keep_text(draft, object, "NVIDIAUUID", gpu.uuid);
  keep_text(draft, object, "AMDUUID", gpu.uuid);
  keep_text(draft, object, "NVIDIASerial", gpu.serial);
  keep_text(draft, object, "AMDSerial", gpu.serial);
  for (const std::string_view stem : {std::string_view("nvml"), std::string_view("rsmi")}) {
    if (const auto number = number_behind(name, stem)) gpu.library_index = draft.known(*number, object.line);
  }
  const auto kib = parse_integer<std::uint64_t>(info_of(object, "CUDAGlobalMemorySize"));
  if (kib && *kib < (1ULL << 40U)) gpu.memory = draft.known(kibibytes(*kib), object.line);
}

void take_interface(Draft& draft, const XmlElement& object, const Place& place) {
  model::NetDevice device;
  locate(draft, object, place, device);
  keep_text(draft, object, "Address", device.mac);
  draft.machine.networks.push_back(std::move(device));
}

void take_rdma(Draft& draft, const XmlElement& object, const Place& place) {
  model::RdmaDevice device;
  locate(draft, object, place, device);
  keep_text(draft, object, "NodeGUID", device.node_guid);
  keep_text(draft, object, "SysImageGUID", device.system_guid);
  for (std::uint32_t port = 1; port <= kMaxPorts; ++port)
    read_port(draft, object, port, device);
  draft.machine.rdma.push_back(std::move(device));
}

}  // namespace angio::import::hwloc_xml
