#include "base/ids.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/text.hpp"

namespace angio {

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  const std::vector<std::string_view> parts = split(trim(text), ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  const std::vector<std::string_view> tail = split(parts.back(), '.');
  if (tail.size() != 2) return std::nullopt;
  const auto domain = parts.size() == 3 ? parse_integer<std::uint32_t>(parts[0], 16) : 0U;
  const auto bus = parse_integer<std::uint8_t>(parts[parts.size() - 2], 16);
  const auto device = parse_integer<std::uint8_t>(tail[0], 16);
  const auto function = parse_integer<std::uint8_t>(tail[1], 16);
  if (!domain || !bus || !device || !function || *device > 31 || *function > 7) return std::nullopt;
  return PciAddress{*domain, *bus, *device, *function};
}

std::string to_string(const PciAddress& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device,
                     address.function);
}

}  // namespace angio
