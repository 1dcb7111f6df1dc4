#include "probe/sysfs/pci_tree.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/text.hpp"

namespace angio::probe {
namespace {

using BusKey = std::pair<std::uint32_t, std::uint8_t>;  // domain, bus

// "pci0000:15": a host bridge's directory, not "pci_bus" or "pciconf0".
bool is_root_complex(std::string_view part) {
  constexpr std::string_view kPrefix = "pci";
  if (!part.starts_with(kPrefix)) return false;
  part.remove_prefix(kPrefix.size());
  const std::size_t colon = part.find(':');
  return colon != std::string_view::npos && parse_integer<std::uint32_t>(part.substr(0, colon), 16) &&
         parse_integer<std::uint8_t>(part.substr(colon + 1), 16);
}

std::map<BusKey, std::uint32_t> bridges_by_bus(const std::vector<PciTreeInput>& input,
                                               const model::Pci& pci) {
  std::map<BusKey, std::uint32_t> bridges;
  for (std::uint32_t i = 0; i < pci.devices.size(); ++i) {
    const PciAddress& address = pci.devices[i].address;
    // A bridge's secondary bus has a higher number than its own; 0 is a bridge nobody set up.
    if (input[i].buses && input[i].buses->secondary > address.bus) {
      bridges.emplace(BusKey{address.domain, input[i].buses->secondary}, i);
    }
  }
  return bridges;
}

// Takes the parent away from one device of every cycle, so that walking up always ends.
void break_cycles(model::Pci& pci) {
  enum class State : std::uint8_t { kNew, kOnPath, kDone };
  std::vector<State> states(pci.devices.size(), State::kNew);
  std::vector<std::uint32_t> path;
  for (std::uint32_t start = 0; start < pci.devices.size(); ++start) {
    std::optional<std::uint32_t> at = start;
    while (at && states[*at] == State::kNew) {
      states[*at] = State::kOnPath;
      path.push_back(*at);
      at = pci.devices[*at].parent;
    }
    if (at && states[*at] == State::kOnPath) pci.devices[path.back()].parent.reset();
    for (const std::uint32_t index : path)
      states[index] = State::kDone;
    path.clear();
  }
}

// A device found by bus number shares the root complex of the topmost bridge above it.
void name_root_complexes(model::Pci& pci) {
  for (std::uint32_t i = 0; i < pci.devices.size(); ++i) {
    std::vector<std::uint32_t> unnamed;
    std::uint32_t at = i;
    while (pci.devices[at].root_complex.empty()) {
      unnamed.push_back(at);
      if (!pci.devices[at].parent) break;
      at = *pci.devices[at].parent;
    }
    const model::PciDevice& top = pci.devices[at];
    const std::string name = top.root_complex.empty()
                                 ? fmt::format("pci{:04x}:{:02x}", top.address.domain, top.address.bus)
                                 : top.root_complex;
    for (const std::uint32_t index : unnamed)
      pci.devices[index].root_complex = name;
  }
}

}  // namespace

std::optional<PciPathPosition> parse_device_path(std::string_view link) {
  std::vector<std::string_view> parts = split(link, '/');
  if (!parts.empty()) parts.pop_back();  // the device itself
  PciPathPosition position;
  for (const std::string_view part : parts) {
    if (position.root_complex.empty()) {
      if (is_root_complex(part)) position.root_complex = std::string(part);
    } else if (const auto address = parse_pci_address(part)) {
      position.parent = address;
    }
  }
  if (position.root_complex.empty()) return std::nullopt;
  return position;
}

void build_pci_tree(const std::vector<PciTreeInput>& input, model::Pci& pci) {
  const std::map<BusKey, std::uint32_t> bridges = bridges_by_bus(input, pci);
  for (std::uint32_t i = 0; i < pci.devices.size(); ++i) {
    model::PciDevice& device = pci.devices[i];
    if (input[i].path) {
      device.root_complex = input[i].path->root_complex;
      if (input[i].path->parent) device.parent = pci.find(*input[i].path->parent);
      continue;
    }
    const auto bridge = bridges.find({device.address.domain, device.address.bus});
    if (bridge != bridges.end()) device.parent = bridge->second;
  }
  break_cycles(pci);
  name_root_complexes(pci);
}

}  // namespace angio::probe
