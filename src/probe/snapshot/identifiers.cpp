#include "probe/snapshot/identifiers.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.hpp"

namespace angio::probe::snapshot {
namespace {

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

char char_at(std::string_view text, std::size_t at) {
  return at < text.size() ? text[at] : '\0';
}

// Length of the run of characters that satisfy is, at most limit + 1.
template <typename Is>
std::size_t run_length(std::string_view text, std::size_t limit, Is is) {
  std::size_t length = 0;
  while (length < text.size() && length <= limit && is(text[length]))
    ++length;
  return length;
}

// count groups of width hexadecimal digits with separator between; not followed by more of the same.
bool is_grouped(std::string_view text, std::size_t count, std::size_t width, char separator) {
  const std::size_t length = count * (width + 1) - 1;
  if (text.size() < length) return false;
  for (std::size_t i = 0; i < length; ++i) {
    const bool between = i % (width + 1) == width;
    if (between ? text[i] != separator : !is_hex(text[i])) return false;
  }
  const char next = char_at(text, length);
  return !is_alnum(next) && !(next == separator && is_hex(char_at(text, length + 1)));
}

bool is_uuid(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() < kLength || is_alnum(char_at(text, kLength))) return false;
  for (std::size_t i = 0; i < kLength; ++i) {
    const bool between = i == 8 || i == 13 || i == 18 || i == 23;
    if (between ? (text[i] != '-' && text[i] != '_') : !is_hex(text[i])) return false;
  }
  return true;
}

// Container, machine and image ids; masks ("ffff...") have few different digits.
std::optional<Identifier> hex_id(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  const std::size_t length = run_length(text, kLongest, is_hex);
  if ((length != 32 && length != 40 && length != kLongest) || is_alnum(char_at(text, length)))
    return std::nullopt;
  std::string digits(text.substr(0, length));
  std::ranges::sort(digits);
  digits.erase(std::ranges::unique(digits).begin(), digits.end());
  if (digits.size() < 6) return std::nullopt;
  return Identifier{IdentifierKind::kHexId, length};
}

std::optional<Identifier> interface_name(std::string_view text) {
  for (const std::string_view prefix : {"enx", "wlx", "wwx", "ibx", "rocex", "iwx", "opax"}) {
    if (!text.starts_with(prefix)) continue;
    const std::size_t digits = run_length(text.substr(prefix.size()), 16, is_hex);
    if ((digits != 12 && digits != 16) || is_alnum(char_at(text, prefix.size() + digits)))
      return std::nullopt;
    return Identifier{IdentifierKind::kInterfaceName, prefix.size() + digits};
  }
  return std::nullopt;
}

std::optional<Identifier> colon_form(std::string_view text) {
  if (is_grouped(text, 20, 2, ':')) return Identifier{IdentifierKind::kOctets20, 59};
  if (is_grouped(text, 8, 2, ':') || is_grouped(text, 8, 2, '-'))
    return Identifier{IdentifierKind::kOctets8, 23};
  if (is_grouped(text, 6, 2, ':') || is_grouped(text, 6, 2, '-')) return Identifier{IdentifierKind::kMac, 17};
  if (is_grouped(text, 4, 4, ':')) return Identifier{IdentifierKind::kGuid, 19};
  return std::nullopt;
}

// "version 1.2.3.4", "fw: 28.39.1002.0": the word in front makes four numbers a version.
bool follows_version_word(std::string_view before) {
  constexpr std::size_t kLookBack = 24;
  if (before.size() > kLookBack) before = before.substr(before.size() - kLookBack);
  while (!before.empty() && !is_alnum(before.back())) {
    if (before.back() == '\n') return false;
    before.remove_suffix(1);
  }
  std::size_t begin = before.size();
  while (begin > 0 && is_alnum(before[begin - 1]))
    --begin;
  const std::string word = to_lower(before.substr(begin));
  constexpr std::array<std::string_view, 10> kWords{"version",  "ver", "v",      "release", "rev",
                                                    "firmware", "fw",  "driver", "vbios",   "ofed"};
  return std::ranges::find(kWords, word) != kWords.end();
}

std::optional<Identifier> ipv4(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongest = 15;
  const std::string_view rest = text.substr(at);
  std::size_t length = run_length(rest, kLongest, [](char c) { return is_digit(c) || c == '.'; });
  if (length > 0 && rest[length - 1] == '.') --length;  // the end of a sentence
  if (!parse_ipv4(rest.substr(0, length))) return std::nullopt;
  const char next = char_at(rest, length);
  if (is_alnum(next) || next == '+' || (next == '.' && is_digit(char_at(rest, length + 1))))
    return std::nullopt;
  const char before = at > 0 ? text[at - 1] : '\0';
  if (before == '.') return std::nullopt;
  const bool component = before == '/' && !(at > 1 && text[at - 2] == '/');
  const bool doubtful =
      before == '-' || before == '_' || component || follows_version_word(text.substr(0, at));
  return Identifier{IdentifierKind::kIpv4, length, doubtful};
}

std::optional<Identifier> ipv6(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongest = 45;
  if (at > 0 && text[at - 1] == ':') return std::nullopt;
  const std::string_view rest = text.substr(at);
  std::size_t length = run_length(rest, kLongest, [](char c) { return is_hex(c) || c == ':' || c == '.'; });
  if (length > kLongest || is_alnum(char_at(rest, length))) return std::nullopt;
  while (length > 0 &&
         (rest[length - 1] == '.' || (rest[length - 1] == ':' && !rest.substr(0, length).ends_with("::"))))
    --length;
  // "0::/user.slice" is how a process's cgroup is written; "fe80::/64" is a network.
  const bool is_path = rest.substr(0, length).ends_with("::") && char_at(rest, length) == '/' &&
                       !is_digit(char_at(rest, length + 1));
  if (is_path || std::ranges::count(rest.substr(0, length), ':') < 2 || !parse_ipv6(rest.substr(0, length)))
    return std::nullopt;
  return Identifier{IdentifierKind::kIpv6, length};
}

std::optional<Identifier> hex_guid(std::string_view text) {
  constexpr std::size_t kLength = 18;
  if (!text.starts_with("0x") || text.size() < kLength || is_alnum(char_at(text, kLength)))
    return std::nullopt;
  if (!std::ranges::all_of(text.substr(2, kLength - 2), is_hex)) return std::nullopt;
  return Identifier{IdentifierKind::kHexGuid, kLength, true};
}

// Groups of one side of "::", or of an address without it.
std::optional<std::vector<std::uint16_t>> parse_groups(std::string_view text, bool last) {
  std::vector<std::uint16_t> groups;
  if (text.empty()) return groups;
  const std::vector<std::string_view> parts = split(text, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (last && i + 1 == parts.size() && contains(parts[i], ".")) {
      const auto v4 = parse_ipv4(parts[i]);
      if (!v4) return std::nullopt;
      groups.push_back(static_cast<std::uint16_t>(*v4 >> 16U));
      groups.push_back(static_cast<std::uint16_t>(*v4 & 0xFFFFU));
      continue;
    }
    const auto group = parts[i].size() <= 4 ? parse_integer<std::uint16_t>(parts[i], 16) : std::nullopt;
    if (!group) return std::nullopt;
    groups.push_back(*group);
  }
  return groups;
}

void append_group(std::string& out, unsigned group, std::size_t width) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (; group != 0 || digits.size() < width; group >>= 4U)
    digits.insert(digits.begin(), kDigits[group & 15U]);
  out += digits;
}

}  // namespace

std::optional<Identifier> find_identifier(std::string_view text, std::size_t at) {
  const char first = text[at];
  if (at > 0 && is_alnum(text[at - 1])) return std::nullopt;
  if (!is_alnum(first) && first != ':') return std::nullopt;
  const std::string_view rest = text.substr(at);
  if (is_hex(first) || first == ':') {
    if (is_uuid(rest)) return Identifier{IdentifierKind::kUuid, 36};
    if (auto found = colon_form(rest)) return found;
    if (auto found = ipv6(text, at)) return found;
    if (auto found = is_digit(first) ? ipv4(text, at) : std::nullopt) return found;
    if (auto found = hex_guid(rest)) return found;
    if (auto found = hex_id(rest)) return found;
  }
  return interface_name(rest);
}

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  const std::vector<std::string_view> parts = split(text.substr(0, 16), '.');
  if (parts.size() != 4) return std::nullopt;
  std::uint32_t address = 0;
  for (const std::string_view part : parts) {
    const auto octet = part.size() <= 3 ? parse_integer<std::uint8_t>(part) : std::nullopt;
    if (!octet || (part.size() > 1 && part[0] == '0')) return std::nullopt;
    address = (address << 8U) | *octet;
  }
  return address;
}

std::optional<Ipv6> parse_ipv6(std::string_view text) {
  const std::size_t gap = text.find("::");
  if (gap != text.npos && text.find("::", gap + 1) != text.npos) return std::nullopt;
  const auto head = parse_groups(text.substr(0, gap), gap == text.npos);
  const auto tail = parse_groups(gap == text.npos ? std::string_view() : text.substr(gap + 2), true);
  if (!head || !tail) return std::nullopt;
  const std::size_t count = head->size() + tail->size();
  if (gap == text.npos ? count != 8 : count > 7) return std::nullopt;
  std::array<std::uint16_t, 8> groups{};
  std::ranges::copy(*head, groups.begin());
  std::ranges::copy_backward(*tail, groups.end());
  Ipv6 address{};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    address[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8U);
    address[2 * i + 1] = static_cast<std::uint8_t>(groups[i] & 0xFFU);
  }
  return address;
}

std::string format_ipv4(std::uint32_t address) {
  std::string text;
  for (unsigned shift = 32; shift > 0; shift -= 8) {
    text += std::to_string((address >> (shift - 8)) & 0xFFU);
    if (shift > 8) text += '.';
  }
  return text;
}

std::string format_ipv6(const Ipv6& address, std::string_view original) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i)
    groups[i] = address[2 * i] * 256U + address[2 * i + 1];
  const bool dotted = contains(original, ".");
  const bool full = original.size() == 39;
  const std::size_t count = dotted ? 6 : 8;
  std::size_t gap = count;
  std::size_t gap_length = full ? count : 1;
  for (std::size_t i = 0; i < count && !full; ++i) {
    std::size_t end = i;
    while (end < count && groups[end] == 0)
      ++end;
    if (end - i > gap_length) {
      gap = i;
      gap_length = end - i;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == gap) {
      text += "::";
      i += gap_length - 1;
      continue;
    }
    if (!text.empty() && !text.ends_with("::")) text += ':';
    append_group(text, groups[i], full ? 4 : 1);
  }
  if (!dotted) return text;
  if (!text.ends_with("::")) text += ':';
  return text + format_ipv4((groups[6] << 16U) | groups[7]);
}

std::uint64_t digits_of(std::string_view text) {
  std::uint64_t number = 0;
  for (const char c : text) {
    if (is_hex(c)) number = (number << 4U) | parse_integer<std::uint64_t>({&c, 1}, 16).value_or(0);
  }
  return number;
}

std::string write_over(std::string_view form, std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(form);
  for (auto c = text.rbegin(); c != text.rend(); ++c) {
    if (!is_hex(*c)) continue;
    *c = kDigits[number & 15U];
    number >>= 4U;
  }
  return text;
}

}  // namespace angio::probe::snapshot
