// Reads PCI configuration space bytes: bus numbers of bridges, the PCIe capability, ACS and ATS.
// Pure bytes to values, robust against truncated and looping capability lists. Layout: PCI Local Bus 3.0
// and linux include/uapi/linux/pci_regs.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/pci.hpp"

namespace angio::probe {

// How much of the configuration space the reader was given.
enum class ConfigReach : std::uint8_t {
  kNothing,   // not even a header
  kHeader,    // 64 bytes: what the kernel shows without CAP_SYS_ADMIN
  kStandard,  // 256 bytes: capabilities, no extended ones
  kExtended,  // 4096 bytes
};

struct BridgeBuses {
  std::uint8_t secondary = 0;
  std::uint8_t subordinate = 0;
};

struct PciExpressCapability {
  model::PciPort port = model::PciPort::kUnknown;
  std::optional<Bytes> max_payload_supported;
  std::optional<Bytes> max_payload;
  std::optional<Bytes> max_read_request;
  std::optional<bool> relaxed_ordering;  // allowed, not used: the card decides for each request
  std::optional<model::PciLink> link;    // none: no link (integrated endpoint) or a reserved code
  std::optional<model::PciLink> link_max;
};

class PciConfig {
 public:
  explicit PciConfig(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] ConfigReach reach() const;
  [[nodiscard]] std::optional<BridgeBuses> bridge_buses() const;      // header type 1 only
  [[nodiscard]] std::optional<PciExpressCapability> express() const;  // none: conventional PCI
  [[nodiscard]] std::optional<model::AccessControl> access_control() const;
  [[nodiscard]] std::optional<bool> address_translation() const;  // ATS enabled

 private:
  [[nodiscard]] std::optional<std::uint8_t> byte_at(std::size_t offset) const;
  [[nodiscard]] std::optional<std::uint16_t> word_at(std::size_t offset) const;
  [[nodiscard]] std::optional<std::uint32_t> long_at(std::size_t offset) const;
  [[nodiscard]] std::optional<std::size_t> find_capability(std::uint8_t id) const;
  [[nodiscard]] std::optional<std::size_t> find_extended(std::uint16_t id) const;

  std::string_view bytes_;
};

// Per-lane speed of a link speed code (1: 2.5 GT/s … 6: 64 GT/s); none for reserved codes.
std::optional<TransfersPerSecond> speed_of_code(std::uint32_t code);

}  // namespace angio::probe
