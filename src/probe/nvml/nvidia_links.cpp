#include "probe/nvml/nvidia_links.hpp"

#include <string>

#include "base/text.hpp"
#include "probe/names.hpp"
#include "probe/nvml/nvml_abi.hpp"

namespace angio::probe {
namespace {

std::optional<model::LinkState> parse_state(std::string_view text) {
  if (text == "1") return model::LinkState::kActive;
  if (text == "0") return model::LinkState::kInactive;
  return std::nullopt;
}

std::optional<model::PeerKind> parse_peer_kind(std::string_view text) {
  const auto kind = parse_integer<unsigned>(text);
  if (!kind) return std::nullopt;
  switch (*kind) {
    case nvml::kRemoteGpu:
      return model::PeerKind::kGpu;
    case nvml::kRemoteNpu:
      return model::PeerKind::kCpu;
    case nvml::kRemoteSwitch:
      return model::PeerKind::kSwitch;
    default:
      return model::PeerKind::kUnknown;
  }
}

// The driver counts versions, NV2080_CTRL_NVLINK_STATUS_NVLINK_VERSION_*: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0,
// 6.0; NVML hands the number on (NVML_NVLINK_VERSION_*).
std::optional<std::uint32_t> parse_generation(std::string_view text) {
  constexpr std::uint32_t kGenerations[] = {1, 2, 2, 3, 3, 4, 5, 6};
  const auto number = parse_integer<std::uint32_t>(text);
  if (!number || *number == 0 || *number > std::size(kGenerations)) return std::nullopt;
  return kGenerations[*number - 1];
}

// nvmlGpuP2PStatus_t is in the order of P2pStatus.
std::optional<model::P2pStatus> parse_p2p(std::string_view text) {
  const auto number = parse_integer<std::uint8_t>(text);
  if (!number) return std::nullopt;
  const auto last = static_cast<std::uint8_t>(model::P2pStatus::kUnknown);
  return static_cast<model::P2pStatus>(*number < last ? *number : last);
}

model::GpuLink read_link(const Place& place, std::uint32_t index) {
  model::GpuLink link;
  link.index = index;
  link.state = place.parsed("state", parse_state).value_or(model::LinkState::kUnknown);
  link.version = place.parsed("version", parse_generation);
  link.peer_kind = place.parsed("remote_type", parse_peer_kind).value_or(model::PeerKind::kUnknown);
  link.peer = place.parsed("remote_pci", parse_pci_address);
  link.crc_errors = place.integer<std::uint64_t>("crc");
  link.replays = place.integer<std::uint64_t>("replay");
  link.recoveries = place.integer<std::uint64_t>("recovery");
  return link;
}

}  // namespace

void describe_nvlinks(const Place& nvml, model::Machine& machine, model::Gpu& gpu) {
  const Observed<host::Names> names = nvml.names("link");
  for (const std::uint32_t index : numbers_of(names.value_or({}))) {
    const Place place(nvml.root(), machine, nvml.path("link/" + std::to_string(index)));
    gpu.links.push_back(read_link(place, index));
  }
}

void describe_peers(const Place& nvml, model::Machine& machine, model::Gpu& gpu) {
  const Place place(nvml.root(), machine, nvml.path("p2p"));
  for (const model::Gpu& peer : machine.gpus) {
    Observed<model::P2pStatus>& status = gpu.p2p.emplace_back();
    const std::uint32_t* index = peer.library_index.get();
    if (&peer == &gpu) status = Observed<model::P2pStatus>::absent(place.source(""));
    if (index == nullptr || &peer == &gpu) continue;
    const Place one(nvml.root(), machine, place.path(std::to_string(*index)));
    status = one.parsed("", parse_p2p);
  }
}

}  // namespace angio::probe
