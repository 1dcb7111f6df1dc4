// The PCIe rules and the questions they share; the checks are in pcie_*.cpp.
#include "diagnose/rules/pcie.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose {
namespace pcie {

using model::Machine;
using model::PciDevice;
using model::PciLink;

namespace {

// PCI hierarchies are shallow (256 buses); the limit only stops a damaged tree whose parents form a ring.
constexpr std::size_t kMaxDepth = 256;

const PciDevice* device_at(const Machine& machine, const std::optional<std::uint32_t>& index) {
  return index && *index < machine.pci.devices.size() ? &machine.pci.devices[*index] : nullptr;
}

bool same_card(const PciAddress& a, const PciAddress& b) {
  return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

}  // namespace

std::vector<Endpoint> gpu_endpoints(const Machine& machine) {
  std::vector<Endpoint> found;
  for (const model::Gpu& gpu : machine.gpus) {
    const PciDevice* device = device_at(machine, gpu.pci);
    if (device != nullptr && !device->physical_function) found.push_back({gpu_label(gpu), *gpu.pci, &gpu});
  }
  return found;
}

std::vector<Endpoint> nic_endpoints(const Machine& machine) {
  std::vector<Endpoint> found;
  for (const model::RdmaDevice& nic : machine.rdma) {
    const PciDevice* device = device_at(machine, nic.pci);
    if (device == nullptr || device->physical_function || nic.virtual_function) continue;
    const auto card = std::ranges::find_if(found, [&](const Endpoint& other) {
      return same_card(machine.pci.devices[other.device].address, device->address);
    });
    if (card != found.end()) {
      card->label += ", " + nic.name;
    } else {
      found.push_back({nic.name, *nic.pci, nullptr});
    }
  }
  return found;
}

std::vector<Endpoint> endpoints(const Machine& machine) {
  std::vector<Endpoint> all = gpu_endpoints(machine);
  const std::vector<Endpoint> nics = nic_endpoints(machine);
  all.insert(all.end(), nics.begin(), nics.end());
  return all;
}

const PciDevice* port_above(const Machine& machine, const PciDevice& device) {
  return device_at(machine, device.parent);
}

std::vector<std::uint32_t> bridges_above(const Machine& machine, std::uint32_t device) {
  std::vector<std::uint32_t> bridges;
  const PciDevice* at = device_at(machine, device);
  while (at != nullptr && device_at(machine, at->parent) != nullptr && bridges.size() < kMaxDepth) {
    bridges.push_back(*at->parent);
    at = &machine.pci.devices[*at->parent];
  }
  return bridges;
}

PciLink possible(const PciLink& device, const PciLink& port) {
  return {std::min(device.speed, port.speed), std::min(device.lanes, port.lanes)};
}

std::string in_words(const PciLink& link) {
  return in_words(link.speed) + " x" + std::to_string(link.lanes);
}

std::string generation_in_words(TransfersPerSecond speed) {
  const auto generation = knowledge::pcie_generation(speed);
  if (!generation) return in_words(speed);
  return "Gen " + std::to_string(*generation) + " (" + in_words(speed) + ")";
}

model::Cost link_cost(const PciLink& now, const PciLink& could) {
  const auto have = knowledge::pcie_rate(now);
  const auto full = knowledge::pcie_rate(could);
  if (!have || !full) return {};
  return {in_words(*have) + " instead of " + in_words(*full) + " in each direction", "pcie-link"};
}

double share_lost(const PciLink& now, const PciLink& could) {
  const auto have = knowledge::pcie_rate(now);
  const auto full = knowledge::pcie_rate(could);
  return have && full ? std::clamp(1.0 - *have / *full, 0.0, 1.0) : 0.0;
}

namespace {

constexpr std::array kRules = {
    Rule{"pcie.acs.redirect", acs_redirect},
    Rule{"pcie.aer.correctable", aer_correctable},
    Rule{"pcie.aer.uncorrectable", aer_uncorrectable},
    Rule{"pcie.ats.off-in-guest", ats_in_guest},
    Rule{"pcie.bar.small", small_bar},
    Rule{"pcie.gpu.unbalanced", unbalanced_gpus},
    Rule{"pcie.link.speed-reduced", gpu_speed},
    Rule{"pcie.link.width-reduced", gpu_width},
    Rule{"pcie.nic.far-from-gpu", nic_far},
    Rule{"pcie.nic.link-reduced", nic_link},
    Rule{"pcie.nic.no-common-switch", nic_not_below_switch},
    Rule{"pcie.nic.slot-below-port", slot_below_port},
    Rule{"pcie.nvme.link-reduced", nvme_link},
    Rule{"pcie.payload.small", payload},
    Rule{"pcie.readrequest.small", read_request},
    Rule{"pcie.switch.shared-uplink", shared_uplink},
    Rule{"pcie.switch.uplink-reduced", switch_uplink},
};

}  // namespace
}  // namespace pcie

std::span<const Rule> pcie_rules() {
  return pcie::kRules;
}

}  // namespace angio::diagnose
