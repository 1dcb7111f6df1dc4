#include "probe/sysfs/pci_config.hpp"

#include <array>

namespace angio::probe {
namespace {

// Offsets and bits of include/uapi/linux/pci_regs.h, under the kernel's names.
constexpr std::size_t kPciStatus = 0x06;
constexpr std::uint16_t kPciStatusCapList = 0x10;
constexpr std::size_t kPciHeaderType = 0x0e;
constexpr std::uint8_t kHeaderTypeMask = 0x7f;
constexpr std::size_t kPciSecondaryBus = 0x19;
constexpr std::size_t kPciSubordinateBus = 0x1a;
constexpr std::size_t kPciCapabilityList = 0x34;
constexpr std::size_t kHeaderEnd = 0x40;
constexpr std::size_t kStandardEnd = 0x100;
constexpr std::size_t kExtendedEnd = 0x1000;
constexpr std::uint8_t kCapIdExpress = 0x10;
constexpr std::uint16_t kExtCapIdAcs = 0x0d;
constexpr std::uint16_t kExtCapIdAts = 0x0f;

// A list cannot have more entries than fit without overlapping.
constexpr std::size_t kMostCapabilities = (kStandardEnd - kHeaderEnd) / 4;
constexpr std::size_t kMostExtended = (kExtendedEnd - kStandardEnd) / 8;

model::PciPort port_of(std::uint16_t express_flags) {
  switch ((express_flags >> 4U) & 0xfU) {  // PCI_EXP_FLAGS_TYPE
    case 0x0:
    case 0x1:
      return model::PciPort::kEndpoint;  // endpoint, legacy endpoint
    case 0x4:
      return model::PciPort::kRootPort;
    case 0x5:
      return model::PciPort::kSwitchUpstream;
    case 0x6:
      return model::PciPort::kSwitchDownstream;
    case 0x9:
      return model::PciPort::kEndpoint;  // root complex integrated endpoint
    default:
      return model::PciPort::kOther;  // PCIe to PCI bridges, event collectors
  }
}

// Three-bit code: 128 << code; 6 and 7 are reserved.
std::optional<Bytes> payload_of_code(std::uint32_t code) {
  constexpr std::uint32_t kLargest = 5;
  if (code > kLargest) return std::nullopt;
  return Bytes{std::uint64_t{128} << code};
}

std::optional<model::PciLink> link_of(std::uint32_t speed_code, std::uint32_t width) {
  constexpr std::uint32_t kWidest = 32;
  const auto speed = speed_of_code(speed_code);
  if (!speed || width == 0 || width > kWidest) return std::nullopt;
  return model::PciLink{*speed, width};
}

}  // namespace

std::optional<TransfersPerSecond> speed_of_code(std::uint32_t code) {
  constexpr std::array<double, 7> kSpeeds{0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  if (code == 0 || code >= kSpeeds.size()) return std::nullopt;
  return TransfersPerSecond{kSpeeds[code]};
}

std::optional<std::uint8_t> PciConfig::byte_at(std::size_t offset) const {
  if (offset >= bytes_.size()) return std::nullopt;
  return static_cast<std::uint8_t>(bytes_[offset]);
}

std::optional<std::uint16_t> PciConfig::word_at(std::size_t offset) const {
  const auto low = byte_at(offset);
  const auto high = byte_at(offset + 1);
  if (!low || !high) return std::nullopt;
  return static_cast<std::uint16_t>(*low | (*high << 8U));
}

std::optional<std::uint32_t> PciConfig::long_at(std::size_t offset) const {
  const auto low = word_at(offset);
  const auto high = word_at(offset + 2);
  if (!low || !high) return std::nullopt;
  return *low | (std::uint32_t{*high} << 16U);
}

ConfigReach PciConfig::reach() const {
  if (bytes_.size() < kHeaderEnd) return ConfigReach::kNothing;
  if (bytes_.size() == kHeaderEnd) return ConfigReach::kHeader;
  return bytes_.size() <= kStandardEnd ? ConfigReach::kStandard : ConfigReach::kExtended;
}

std::optional<BridgeBuses> PciConfig::bridge_buses() const {
  const auto type = byte_at(kPciHeaderType);
  const auto secondary = byte_at(kPciSecondaryBus);
  const auto subordinate = byte_at(kPciSubordinateBus);
  if (!type || (*type & kHeaderTypeMask) != 1 || !secondary || !subordinate) return std::nullopt;
  return BridgeBuses{*secondary, *subordinate};
}

std::optional<std::size_t> PciConfig::find_capability(std::uint8_t id) const {
  const auto status = word_at(kPciStatus);
  if (!status || (*status & kPciStatusCapList) == 0) return std::nullopt;
  std::size_t offset = byte_at(kPciCapabilityList).value_or(0) & ~3U;
  for (std::size_t i = 0; i < kMostCapabilities && offset >= kHeaderEnd; ++i) {
    const auto found = byte_at(offset);
    if (!found) return std::nullopt;
    if (*found == id) return offset;
    offset = byte_at(offset + 1).value_or(0) & ~3U;
  }
  return std::nullopt;
}

std::optional<std::size_t> PciConfig::find_extended(std::uint16_t id) const {
  std::size_t offset = kStandardEnd;
  for (std::size_t i = 0; i < kMostExtended && offset >= kStandardEnd; ++i) {
    const auto header = long_at(offset);
    if (!header || *header == 0 || *header == ~std::uint32_t{0}) return std::nullopt;
    if ((*header & 0xffffU) == id) return offset;
    offset = (*header >> 20U) & ~3U;
  }
  return std::nullopt;
}

std::optional<PciExpressCapability> PciConfig::express() const {
  const auto at = find_capability(kCapIdExpress);
  const auto flags = at ? word_at(*at + 2) : std::nullopt;
  if (!flags) return std::nullopt;
  PciExpressCapability capability;
  capability.port = port_of(*flags);
  if (const auto device_capability = long_at(*at + 4)) {
    capability.max_payload_supported = payload_of_code(*device_capability & 7U);
  }
  if (const auto control = word_at(*at + 8)) {
    capability.max_payload = payload_of_code((*control >> 5U) & 7U);
    capability.max_read_request = payload_of_code((*control >> 12U) & 7U);
    capability.relaxed_ordering = (*control & 0x10U) != 0;  // PCI_EXP_DEVCTL_RELAX_EN
  }
  if (const auto link = long_at(*at + 12)) capability.link_max = link_of(*link & 0xfU, (*link >> 4U) & 0x3fU);
  if (const auto link = word_at(*at + 18)) capability.link = link_of(*link & 0xfU, (*link >> 4U) & 0x3fU);
  return capability;
}

std::optional<model::AccessControl> PciConfig::access_control() const {
  const auto at = find_extended(kExtCapIdAcs);
  const auto control = at ? word_at(*at + 6) : std::nullopt;
  if (!control) return std::nullopt;
  model::AccessControl acs;
  acs.source_validation = (*control & 0x01U) != 0;
  acs.request_redirect = (*control & 0x04U) != 0;
  acs.completion_redirect = (*control & 0x08U) != 0;
  acs.upstream_forwarding = (*control & 0x10U) != 0;
  return acs;
}

std::optional<bool> PciConfig::address_translation() const {
  const auto at = find_extended(kExtCapIdAts);
  const auto control = at ? word_at(*at + 6) : std::nullopt;
  if (!control) return std::nullopt;
  return (*control & 0x8000U) != 0;
}

}  // namespace angio::probe
