// Identifiers as types: a PCI address is not a string and a NUMA node number is not a CPU number.
// Each parses from the form the kernel prints and prints back the same.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace angio {

// 0000:1b:00.0; the domain may exceed 16 bits (VMD: 10000:e1:00.0).
struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;
  std::uint8_t function = 0;
  auto operator<=>(const PciAddress&) const = default;
};

// Takes "0000:1b:00.0", "1b:00.0", "00000000:1B:00.0" (NVML) in either case.
std::optional<PciAddress> parse_pci_address(std::string_view text);
std::string to_string(const PciAddress& address);

template <typename Tag, typename Number>
struct Id {
  Number value{};
  constexpr auto operator<=>(const Id&) const = default;
};

using CpuId = Id<struct CpuIdTag, std::uint32_t>;
using NumaId = Id<struct NumaIdTag, std::uint32_t>;  // an existing node; "unknown" is an Observed state
using Lid = Id<struct LidTag, std::uint16_t>;
using Rank = Id<struct RankTag, std::uint32_t>;

}  // namespace angio
