// Finds what identifies a machine by its form alone: MACs, GUIDs, UUIDs, IP addresses, long hexadecimal ids.
// Does not know names; does not replace anything. Used by scrubbing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace angio::probe::snapshot {

enum class IdentifierKind : std::uint8_t {
  kUuid,           // 8-4-4-4-12 hexadecimal digits, "-" or "_" between
  kHexId,          // 32, 40 or 64 hexadecimal digits: container and machine ids
  kMac,            // 6 octets
  kOctets8,        // a GUID as 8 octets
  kOctets20,       // IPoIB hardware address: queue pair, GID
  kGuid,           // "b83f:d203:00a1:b2c4"
  kHexGuid,        // "0xb83fd20300a1b2c4"
  kInterfaceName,  // "enx001122334455": an interface named by its MAC or GUID
  kIpv4,
  kIpv6,
};

struct Identifier {
  IdentifierKind kind = IdentifierKind::kUuid;
  std::size_t length = 0;
  bool doubtful = false;  // could as well be a version; or a number that is no GUID
};

// What begins at text[at]; the caller goes from left to right and skips what was found. Looks at a bounded
// number of characters.
std::optional<Identifier> find_identifier(std::string_view text, std::size_t at);

using Ipv6 = std::array<std::uint8_t, 16>;
std::optional<std::uint32_t> parse_ipv4(std::string_view text);
std::optional<Ipv6> parse_ipv6(std::string_view text);
std::string format_ipv4(std::uint32_t address);
// In the manner of original: all eight groups in full, or shortened; IPv4 at the end in dots if it was.
std::string format_ipv6(const Ipv6& address, std::string_view original);

// The hexadecimal digits of text as a number, whatever stands between; 16 digits at most.
std::uint64_t digits_of(std::string_view text);
// number's digits written over those of form, right-aligned, other characters kept.
std::string write_over(std::string_view form, std::uint64_t number);

}  // namespace angio::probe::snapshot
