#include "model/pci.hpp"

#include <algorithm>

namespace angio::model {
namespace {

// PCI hierarchies are shallow (256 buses); the limit only stops a damaged tree whose parents form a ring.
constexpr std::size_t kMaxPciDepth = 256;

}  // namespace

std::optional<std::uint32_t> Pci::find(const PciAddress& address) const {
  const auto found = std::ranges::lower_bound(devices, address, {}, &PciDevice::address);
  if (found == devices.end() || found->address != address) return std::nullopt;
  return static_cast<std::uint32_t>(found - devices.begin());
}

std::vector<std::uint32_t> chain_of(const Pci& pci, std::uint32_t device) {
  std::vector<std::uint32_t> chain{device};
  while (chain.size() < kMaxPciDepth) {
    const std::optional<std::uint32_t> parent = pci.devices[chain.back()].parent;
    if (!parent || *parent >= pci.devices.size()) break;
    chain.push_back(*parent);
  }
  return chain;
}

PciPort port_role(const Pci& pci, std::uint32_t bridge) {
  if (pci.devices[bridge].port != PciPort::kUnknown) return pci.devices[bridge].port;
  const std::vector<std::uint32_t> chain = chain_of(pci, bridge);
  PciPort port = PciPort::kRootPort;
  for (std::size_t i = chain.size(); i-- > 0;) {
    const PciDevice& above = pci.devices[chain[i]];
    if (above.port != PciPort::kUnknown) {
      port = above.port;
    } else if (i + 1 < chain.size()) {
      port = port == PciPort::kSwitchUpstream ? PciPort::kSwitchDownstream : PciPort::kSwitchUpstream;
    }
  }
  return port;
}

}  // namespace angio::model
