#include "probe/snapshot/pseudonyms.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"

namespace angio::probe::snapshot {
namespace {

constexpr std::uint64_t kLow24 = 0xFFFFFF;
constexpr std::uint32_t kLocalBit = 0x020000;  // of the first octet: no maker's number, RFC 7042
constexpr std::uint64_t kStride = 0x20;        // between stand-ins that are no neighbours
constexpr std::uint64_t kSmallHost = 0x10000;  // "fd00::5" tells nothing once its prefix is replaced

// Middle of a 64-bit id made from a MAC: EUI-64, or Mellanox's node GUIDs.
enum class Middle : std::uint8_t { kNone, kEui64, kMellanox };
Middle middle_of(std::uint64_t guid) {
  const std::uint64_t middle = (guid >> 24U) & 0xFFFFU;
  return middle == 0xFFFE ? Middle::kEui64 : middle == 0x0300 ? Middle::kMellanox : Middle::kNone;
}

// The MAC a 64-bit id was made from; EUI-64 turns the local bit over (RFC 4291, appendix A).
std::uint64_t mac_within(std::uint64_t guid, Middle middle) {
  std::uint64_t maker = guid >> 40U;
  if (middle == Middle::kEui64) maker ^= kLocalBit;
  return (maker << 24U) | (guid & kLow24);
}
std::uint64_t guid_around(std::uint64_t mac, Middle middle) {
  std::uint64_t maker = mac >> 24U;
  if (middle == Middle::kEui64) maker ^= kLocalBit;
  const std::uint64_t between = middle == Middle::kEui64 ? 0xFFFE : 0x0300;
  return (maker << 40U) | (between << 24U) | (mac & kLow24);
}

bool is_plain_number(std::uint64_t value) {
  return value < kSmallHost || value == ~std::uint64_t{0};
}

// Which table a MAC belongs to and its key there. Local MACs have no maker: all in one.
std::pair<std::uint32_t, std::uint64_t> maker_and_key(std::uint64_t mac) {
  const auto maker = static_cast<std::uint32_t>(mac >> 24U);
  if ((maker & kLocalBit) != 0) return {kLocalBit, mac};
  return {maker, mac & kLow24};
}

// Stand-ins in the order of the originals; neighbours (ports of a card) stay as far apart as they were.
void number_table(std::map<std::uint64_t, std::uint64_t>& table, std::uint64_t first) {
  constexpr std::uint64_t kNeighbour = 16;
  std::uint64_t next = first;
  std::uint64_t before = 0;
  bool begun = false;
  for (auto& [original, replacement] : table) {
    if (begun && original - before <= kNeighbour) {
      next += original - before;
    } else if (begun) {
      next = (next / kStride + 1) * kStride;
    }
    begun = true;
    before = original;
    replacement = next;
  }
}

std::uint64_t half_of(const Ipv6& address, std::size_t begin) {
  std::uint64_t value = 0;
  for (std::size_t i = begin; i < begin + 8; ++i)
    value = (value << 8U) | address[i];
  return value;
}
void set_half(Ipv6& address, std::size_t begin, std::uint64_t value) {
  for (std::size_t i = begin + 8; i > begin; --i, value >>= 8U)
    address[i - 1] = static_cast<std::uint8_t>(value & 0xFFU);
}

constexpr std::uint64_t kLinkLocal = 0xFE80'0000'0000'0000;
constexpr std::uint64_t kMappedIpv4 = 0xFFFF;  // upper half zero, then 16 bits of ones

bool is_mapped_ipv4(const Ipv6& address) {
  return half_of(address, 0) == 0 && (half_of(address, 8) >> 32U) == kMappedIpv4;
}
bool is_kept_prefix(std::uint64_t prefix) {
  return prefix == 0 || prefix == kLinkLocal || (prefix >> 56U) == 0xFF;  // none, fe80::/64, multicast
}

// Leading bits of an IPv4 address that say its kind: RFC 1918, 6598, 3927. 32: keep it whole.
unsigned kept_bits(std::uint32_t address) {
  const std::uint32_t first = address >> 24U;
  if (first == 0 || first == 127 || first >= 224) return 32;
  if (first == 10) return 8;
  if ((address >> 20U) == 0xAC1) return 12;
  if ((address >> 16U) == 0xC0A8 || (address >> 16U) == 0xA9FE) return 16;
  if ((address >> 22U) == 0x191) return 10;
  return 0;
}

std::size_t trailing_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && std::isdigit(static_cast<unsigned char>(text[text.size() - 1 - count])) != 0)
    ++count;
  return count;
}

std::string hex_text(std::uint64_t number, std::size_t width) {
  return write_over(std::string(width, '0'), number);
}

}  // namespace

void Pseudonyms::note_guid(std::uint64_t guid) {
  if (is_plain_number(guid)) return;
  const Middle middle = middle_of(guid);
  if (middle == Middle::kNone) {
    guids_[guid] = 0;
    return;
  }
  const auto [maker, key] = maker_and_key(mac_within(guid, middle));
  by_maker_[maker][key] = 0;
}

void Pseudonyms::note_ipv6(const Ipv6& address) {
  if (is_mapped_ipv4(address)) {
    ipv4_.insert(static_cast<std::uint32_t>(half_of(address, 8)));
    return;
  }
  const std::uint64_t prefix = half_of(address, 0);
  if ((prefix >> 56U) == 0xFF) return;
  if (!is_kept_prefix(prefix)) prefixes_[prefix] = 0;
  note_guid(half_of(address, 8));
}

void Pseudonyms::note(const Identifier& found, std::string_view text) {
  switch (found.kind) {
    case IdentifierKind::kUuid:
      uuids_[to_lower(text)] = 0;
      return;
    case IdentifierKind::kHexId:
      hex_ids_[to_lower(text)] = 0;
      return;
    case IdentifierKind::kMac: {
      const std::uint64_t mac = digits_of(text);
      const auto [maker, key] = maker_and_key(mac);
      if (mac != 0 && mac != 0xFFFF'FFFF'FFFF) by_maker_[maker][key] = 0;
      return;
    }
    case IdentifierKind::kOctets8:
    case IdentifierKind::kGuid:
      return note_guid(digits_of(text));
    case IdentifierKind::kOctets20:
      return note_guid(digits_of(text.substr(text.size() - 23)));
    case IdentifierKind::kHexGuid:
      return;  // only what is known as a GUID elsewhere
    case IdentifierKind::kInterfaceName: {
      const std::string_view digits = text.substr(text.find('x') + 1);
      const std::uint64_t number = digits_of(digits);
      if (digits.size() == 16) return note_guid(number);
      const auto [maker, key] = maker_and_key(number);
      by_maker_[maker][key] = 0;
      return;
    }
    case IdentifierKind::kIpv4:
      if (!found.doubtful) ipv4_.insert(parse_ipv4(text).value_or(0));
      return;
    case IdentifierKind::kIpv6:
      return note_ipv6(parse_ipv6(text).value_or(Ipv6{}));
  }
}

void Pseudonyms::note_word(Word kind, std::string_view word) {
  constexpr std::array<std::string_view, 19> kCommon{"root",
                                                     "nobody",
                                                     "ubuntu",
                                                     "ec2-user",
                                                     "admin",
                                                     "user",
                                                     "opc",
                                                     "azureuser",
                                                     "centos",
                                                     "debian",
                                                     "slurm",
                                                     "localhost",
                                                     "localhost.localdomain",
                                                     "N/A",
                                                     "None",
                                                     "unknown",
                                                     "(none)",
                                                     "0",
                                                     "..."};
  constexpr std::size_t kLongest = 253;  // a domain name
  word = trim(word);
  if (word.size() < 2 || word.size() > kLongest || std::ranges::find(kCommon, word) != kCommon.end()) return;
  if (word.find_first_of(" \t\n") != word.npos) return;
  if (kind == Word::kHost && (parse_ipv4(word) || parse_ipv6(word))) return;
  words_.try_emplace(std::string(word), Named{kind, {}});
  longest_word_ = std::max(longest_word_, word.size());
  if (kind != Word::kHost) return;
  if (const std::size_t dot = word.find('.'); dot != word.npos && dot > 0) {
    note_word(Word::kHost, word.substr(0, dot));
    note_word(Word::kDomain, word.substr(dot + 1));
    return;
  }
  const std::size_t digits = trailing_digits(word);
  if (digits >= 2 && digits < word.size())
    families_[std::string(word.substr(0, word.size() - digits))].insert(digits);
}

void Pseudonyms::note_own_host(std::string_view name) {
  note_word(Word::kHost, name);
  own_host_ = trim(name.substr(0, name.find('.')));
}

bool Pseudonyms::is_family(std::string_view host) const {
  const std::size_t digits = trailing_digits(host);
  if (digits < 2 || digits >= host.size()) return false;
  const auto family = families_.find(host.substr(0, host.size() - digits));
  return family != families_.end() && family->second.contains(digits);
}

bool Pseudonyms::is_in_domain(std::string_view host) const {
  const std::size_t dot = host.find('.');
  if (dot == host.npos || dot == 0) return false;
  const auto domain = words_.find(host.substr(dot + 1));
  return domain != words_.end() && domain->second.kind == Word::kDomain;
}

void Pseudonyms::number(std::map<std::string, std::uint64_t, std::less<>>& table) {
  std::uint64_t next = 0;
  for (auto& [text, replacement] : table)
    replacement = ++next;
}

void Pseudonyms::settle() {
  for (auto& [maker, table] : by_maker_)
    number_table(table, kStride);
  number_table(guids_, 0x0200'0000'0000'0000 + kStride);
  std::uint64_t subnet = 0;
  for (auto& [prefix, replacement] : prefixes_) {
    const std::uint64_t top = prefix >> 48U;
    const bool local = (top & 0xFF00U) == 0xFD00 || (top & 0xFF00U) == 0xFC00;
    const std::uint64_t kind = local                       ? 0xFD00'0000'0000'0000
                               : (top & 0xFF00U) == 0xFE00 ? top << 48U
                                                           : 0x2001'0DB8'0000'0000;
    replacement = kind | ++subnet;
  }
  number(uuids_);
  number(hex_ids_);
  constexpr std::array<std::string_view, 6> kNames{"peer", "domain", "user", "account", "cluster", "serial"};
  std::array<std::uint64_t, kNames.size()> counts{};
  for (auto& [word, named] : words_) {
    const auto kind = static_cast<std::size_t>(named.kind);
    const bool own = named.kind == Word::kHost && word == own_host_;
    named.replacement = own ? "node-" + hex_text(seed_ & kLow24, 6)
                            : std::string(kNames[kind]) + "-" + std::to_string(++counts[kind]);
    if (named.kind == Word::kDomain) named.replacement += ".example";
  }
  // A full name is its short name and its domain.
  for (auto& [word, named] : words_) {
    const std::size_t dot = word.find('.');
    if (named.kind != Word::kHost || dot == std::string::npos) continue;
    const auto host = words_.find(std::string_view(word).substr(0, dot));
    const auto domain = words_.find(std::string_view(word).substr(dot + 1));
    if (host != words_.end() && domain != words_.end())
      named.replacement = host->second.replacement + "." + domain->second.replacement;
  }
}

std::uint64_t Pseudonyms::mac_of(std::uint64_t mac) const {
  const auto [maker, key] = maker_and_key(mac);
  const auto table = by_maker_.find(maker);
  if (table == by_maker_.end()) return mac;
  const auto found = table->second.find(key);
  return found == table->second.end() ? mac : (std::uint64_t{maker} << 24U) | (found->second & kLow24);
}

std::uint64_t Pseudonyms::guid_of(std::uint64_t guid) const {
  if (is_plain_number(guid)) return guid;
  const Middle middle = middle_of(guid);
  if (middle != Middle::kNone) return guid_around(mac_of(mac_within(guid, middle)), middle);
  const auto found = guids_.find(guid);
  return found == guids_.end() ? guid : found->second;
}

// Bit by bit: whether a bit is turned depends on those before it only, so that equal prefixes stay equal.
std::uint32_t Pseudonyms::ipv4_of(std::uint32_t address) {
  const unsigned kept = kept_bits(address);
  std::uint32_t result = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint32_t value = (address >> (31 - bit)) & 1U;
    bool flip = false;
    if (bit >= kept) {
      const std::uint64_t prefix = bit == 0 ? 0 : address >> (32 - bit);
      const auto [entry, fresh] = flips_.try_emplace((std::uint64_t{bit} << 32U) | prefix, false);
      if (fresh) entry->second = (random_() & 1U) != 0;
      flip = entry->second;
    }
    result = (result << 1U) | (value ^ (flip ? 1U : 0U));
  }
  // Public addresses go to the reserved class 240/4, so that none names somebody else's machine.
  return kept == 0 ? result | 0xF000'0000U : result;
}

Ipv6 Pseudonyms::ipv6_of(Ipv6 address) {
  if (is_mapped_ipv4(address)) {
    set_half(address, 8, (kMappedIpv4 << 32U) | ipv4_of(static_cast<std::uint32_t>(half_of(address, 8))));
    return address;
  }
  const std::uint64_t prefix = half_of(address, 0);
  if ((prefix >> 56U) == 0xFF) {
    constexpr std::uint64_t kSolicited = 0x1FF;  // ff02::1:ffXX:XXXX holds the end of an address, RFC 4291
    if ((half_of(address, 8) >> 24U) == kSolicited) set_half(address, 8, kSolicited << 24U);
    return address;
  }
  if (const auto found = prefixes_.find(prefix); found != prefixes_.end())
    set_half(address, 0, found->second);
  set_half(address, 8, guid_of(half_of(address, 8)));
  return address;
}

std::string Pseudonyms::numbered(const std::map<std::string, std::uint64_t, std::less<>>& table,
                                 std::string_view text) const {
  const auto found = table.find(to_lower(text));
  const bool zero = text.find_first_not_of("0-_") == text.npos;
  return found == table.end() || zero ? std::string(text) : write_over(text, found->second);
}

std::string Pseudonyms::replace(const Identifier& found, std::string_view text) {
  switch (found.kind) {
    case IdentifierKind::kUuid:
      return numbered(uuids_, text);
    case IdentifierKind::kHexId:
      return numbered(hex_ids_, text);
    case IdentifierKind::kMac:
      return write_over(text, mac_of(digits_of(text)));
    case IdentifierKind::kOctets8:
    case IdentifierKind::kGuid:
      return write_over(text, guid_of(digits_of(text)));
    case IdentifierKind::kHexGuid:
      return "0x" + write_over(text.substr(2), guid_of(digits_of(text.substr(2))));
    case IdentifierKind::kOctets20: {
      const std::size_t guid = text.size() - 23;
      return std::string(text.substr(0, guid)) +
             write_over(text.substr(guid), guid_of(digits_of(text.substr(guid))));
    }
    case IdentifierKind::kInterfaceName: {
      const std::size_t digits = text.find('x') + 1;
      const std::uint64_t number = digits_of(text.substr(digits));
      const bool guid = text.size() - digits == 16;
      return std::string(text.substr(0, digits)) +
             write_over(text.substr(digits), guid ? guid_of(number) : mac_of(number));
    }
    case IdentifierKind::kIpv4: {
      const std::uint32_t address = parse_ipv4(text).value_or(0);
      if (found.doubtful && !ipv4_.contains(address)) return std::string(text);
      return format_ipv4(ipv4_of(address));
    }
    case IdentifierKind::kIpv6:
      return format_ipv6(ipv6_of(parse_ipv6(text).value_or(Ipv6{})), text);
  }
  return std::string(text);
}

std::size_t Pseudonyms::find_word(std::string_view text, bool serials_only, std::string& replacement) const {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::size_t end = 0;
  while (end < text.size() && end < longest_word_ + 1 &&
         (in_word(text[end]) || text[end] == '-' || text[end] == '_' || text[end] == '.'))
    ++end;
  for (; end > 0; --end) {
    const bool boundary =
        end <= longest_word_ && in_word(text[end - 1]) && (end == text.size() || !in_word(text[end]));
    if (!boundary) continue;
    const auto found = words_.find(text.substr(0, end));
    if (found == words_.end() || (serials_only && found->second.kind != Word::kSerial)) continue;
    replacement = found->second.replacement;
    return end;
  }
  return 0;
}

std::string Pseudonyms::word(std::string_view known) const {
  const auto found = words_.find(trim(known));
  return found == words_.end() ? std::string(known) : found->second.replacement;
}

}  // namespace angio::probe::snapshot
