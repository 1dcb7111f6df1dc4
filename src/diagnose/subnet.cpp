#include "diagnose/subnet.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace angio::diagnose {

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  std::uint32_t address = 0;
  for (const std::string_view part : parts) {
    const auto value = parse_integer<std::uint8_t>(part);
    if (!value) return std::nullopt;
    address = (address << 8U) | *value;
  }
  return address;
}

std::uint32_t Subnet::mask() const {
  return bits == 0 ? 0 : ~std::uint32_t{0} << (32U - bits);
}

std::string Subnet::text() const {
  const std::uint32_t net = address & mask();
  return fmt::format("{}.{}.{}.{}/{}", net >> 24U, (net >> 16U) & 255U, (net >> 8U) & 255U, net & 255U, bits);
}

std::vector<Subnet> subnets_of(const model::NetDevice& interface) {
  constexpr std::uint32_t kLinkLocal = 0xa9fe0000;
  constexpr std::uint32_t kHost = 32;
  std::vector<Subnet> subnets;
  for (const std::string_view text : interface.addresses) {
    const std::size_t slash = text.find('/');
    const auto address = parse_ipv4(text.substr(0, slash));
    const auto bits =
        slash == text.npos ? std::nullopt : parse_integer<std::uint32_t>(text.substr(slash + 1));
    if (!address || !bits || *bits == 0 || *bits >= kHost || (*address & 0xffff0000U) == kLinkLocal) continue;
    subnets.push_back({*address, *bits});
  }
  return subnets;
}

}  // namespace angio::diagnose
