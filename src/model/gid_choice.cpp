#include "model/gid_choice.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace angio::model {

namespace {

constexpr std::size_t kMappedPrefix = 12;  // bytes before the IPv4 address in ::ffff:a.b.c.d

std::optional<std::uint8_t> octet(std::string_view text) {
  return parse_integer<std::uint8_t>(text);
}

std::optional<RawGid> parse_ipv4(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  RawGid raw{};
  raw[10] = raw[11] = 0xff;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = octet(parts[i]);
    if (!value) return std::nullopt;
    raw[kMappedPrefix + i] = *value;
  }
  return raw;
}

// Groups of hexadecimal digits, at most one "::".
std::optional<std::vector<std::uint16_t>> groups_of(std::string_view text) {
  std::vector<std::uint16_t> groups;
  if (text.empty()) return groups;
  for (const std::string_view part : split(text, ':')) {
    const auto value = parse_integer<std::uint16_t>(part, 16);
    if (!value || part.size() > 4) return std::nullopt;
    groups.push_back(*value);
  }
  return groups;
}

std::optional<RawGid> parse_ipv6(std::string_view text) {
  constexpr std::size_t kGroups = 8;
  const std::size_t gap = text.find("::");
  const auto front = groups_of(text.substr(0, gap));
  const auto back = gap == text.npos ? std::vector<std::uint16_t>() : groups_of(text.substr(gap + 2));
  if (!front || !back) return std::nullopt;
  const std::size_t given = front->size() + back->size();
  if (gap == text.npos ? given != kGroups : given >= kGroups) return std::nullopt;
  std::array<std::uint16_t, kGroups> groups{};
  std::ranges::copy(*front, groups.begin());
  std::ranges::copy_backward(*back, groups.end());
  RawGid raw{};
  for (std::size_t i = 0; i < kGroups; ++i) {
    raw[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8U);
    raw[2 * i + 1] = static_cast<std::uint8_t>(groups[i] & 0xffU);
  }
  return raw;
}

bool same_bits(const RawGid& a, const RawGid& b, std::size_t first, std::uint32_t bits) {
  for (std::size_t i = first; bits > 0 && i < a.size(); ++i) {
    const std::uint32_t here = std::min<std::uint32_t>(bits, 8);
    const auto mask = static_cast<std::uint8_t>(0xffU << (8U - here));
    if (((a[i] ^ b[i]) & mask) != 0) return false;
    bits -= here;
  }
  return true;
}

bool in_range(const RawGid& gid, const GidWish& wish) {
  if (!wish.range) return true;
  return same_bits(wish.range->base, gid, wish.family == GidFamily::kIpv4 ? kMappedPrefix : 0,
                   wish.range->bits);
}

// 1, 2, or nothing: not readable, or words that NCCL does not know.
std::optional<std::uint32_t> version_of(const Gid* gid) {
  const std::string type = gid != nullptr ? gid->type.value_or("") : "";
  if (type.starts_with("IB/RoCE v1") || type.starts_with("RoCE v1")) return 1;
  if (type.starts_with("RoCE v2")) return 2;
  return std::nullopt;
}

// The kernel answers EINVAL for the type of a slot that is empty or of another network namespace.
bool is_gap(const Gid* gid) {
  return gid == nullptr || gid->type.is_unreadable();
}

const Gid* entry_at(const RdmaPort& port, std::uint32_t index) {
  const auto found = std::ranges::find(port.gids, index, &Gid::index);
  return found != port.gids.end() ? &*found : nullptr;
}

RawGid raw_of(const Gid* gid) {
  return gid != nullptr ? parse_gid(gid->gid).value_or(RawGid{}) : RawGid{};
}

std::string step(std::uint32_t index, const char* why) {
  return "index " + std::to_string(index) + ": " + why;
}

// One candidate against the entry held so far. False: this release gives up here.
bool consider(const RdmaPort& port, const GidWish& wish, std::uint32_t candidate, GidChoice& choice) {
  const Gid* held = entry_at(port, choice.index);
  const Gid* next = entry_at(port, candidate);
  const RawGid held_raw = raw_of(held);
  const RawGid next_raw = raw_of(next);
  const GidFamily family = family_of(next_raw);
  if (family != family_of(held_raw) && family == wish.family && in_range(next_raw, wish)) {
    choice.index = candidate;
    choice.steps.push_back(step(candidate, family == GidFamily::kIpv4 ? "the first IPv4 entry"
                                           : is_zero(next_raw)        ? "an empty slot, which counts as IPv6"
                                                                      : "the first IPv6 entry"));
    return true;
  }
  if (family != wish.family || !is_usable(next_raw) || !in_range(next_raw, wish)) return true;
  const auto held_version = version_of(held);
  const auto next_version = version_of(next);
  if (!wish.survives_gaps && (is_gap(held) || is_gap(next))) {
    choice.fails = true;
    choice.steps.push_back(step(is_gap(held) ? choice.index : candidate, "its RoCE version cannot be read"));
    return false;
  }
  if ((held_version != next_version || !is_usable(held_raw)) && next_version == wish.roce_version) {
    choice.index = candidate;
    choice.steps.push_back(step(candidate, "of the RoCE version that is wanted"));
  }
  return true;
}

GidChoice choose_infiniband(const RdmaPort& port, const GidWish& wish) {
  GidChoice choice;
  constexpr std::size_t kFlid = 4;  // two bytes of the prefix: the router's LID
  const Gid* routable = wish.flid_index ? entry_at(port, *wish.flid_index) : nullptr;
  const RawGid raw = raw_of(routable);
  if (routable != nullptr && (raw[kFlid] != 0 || raw[kFlid + 1] != 0)) {
    choice.index = *wish.flid_index;
    choice.steps.push_back(step(choice.index, "it carries the LID of a router"));
  } else {
    choice.steps.push_back(step(0, "InfiniBand: always the first"));
  }
  choice.entry = entry_at(port, choice.index);
  return choice;
}

}  // namespace

std::optional<RawGid> parse_gid(std::string_view text) {
  return parse_ipv6(trim(text));
}

GidFamily family_of(const RawGid& gid) {
  const bool zeros = std::ranges::all_of(gid.begin(), gid.begin() + 10, [](auto byte) { return byte == 0; });
  return zeros && gid[10] == 0xff && gid[11] == 0xff ? GidFamily::kIpv4 : GidFamily::kIpv6;
}

bool is_zero(const RawGid& gid) {
  return std::ranges::all_of(gid, [](std::uint8_t byte) { return byte == 0; });
}

bool is_link_local(const RawGid& gid) {
  return gid[0] == 0xfe && gid[1] == 0x80 &&
         std::ranges::all_of(gid.begin() + 2, gid.begin() + 8, [](auto byte) { return byte == 0; });
}

bool is_usable(const RawGid& gid) {
  return !is_zero(gid) && !is_link_local(gid);
}

std::string address_of(const RawGid& gid) {
  if (family_of(gid) == GidFamily::kIpv4)
    return std::to_string(gid[12]) + "." + std::to_string(gid[13]) + "." + std::to_string(gid[14]) + "." +
           std::to_string(gid[15]);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < gid.size(); ++i) {
    if (i > 0 && i % 2 == 0) text += ':';
    text += kDigits[gid[i] >> 4U];
    text += kDigits[gid[i] & 0xfU];
  }
  return text;
}

std::string meaning_of(const Gid& gid) {
  const auto version = version_of(&gid);
  if (!version)
    return gid.type.is_unreadable() && gid.type.error() != 0 ? "another namespace's" : "of unknown type";
  const RawGid raw = raw_of(&gid);
  return "RoCE v" + std::to_string(*version) +
         (is_link_local(raw)                   ? ", link-local"
          : family_of(raw) == GidFamily::kIpv4 ? ", IPv4"
                                               : ", IPv6");
}

std::optional<GidRange> parse_range(std::string_view text, GidFamily family) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const std::string_view address = text.substr(0, slash);
  const auto base = family == GidFamily::kIpv4 ? parse_ipv4(address) : parse_ipv6(address);
  const auto bits = parse_integer<std::uint32_t>(trim(text.substr(slash + 1)));
  if (!base || !bits || *bits > (family == GidFamily::kIpv4 ? 32U : 128U)) return std::nullopt;
  return GidRange{*base, *bits};
}

GidWish wish_of(const std::function<const std::string*(std::string_view)>& value_of) {
  GidWish wish;
  if (const std::string* index = value_of("NCCL_IB_GID_INDEX"))
    wish.index = parse_integer<std::uint32_t>(trim(*index));  // -1: none
  if (const std::string* family = value_of("NCCL_IB_ADDR_FAMILY"))
    wish.family = *family == "AF_INET6" ? GidFamily::kIpv6 : GidFamily::kIpv4;
  if (const std::string* range = value_of("NCCL_IB_ADDR_RANGE"))
    wish.range = parse_range(*range, wish.family);
  if (const std::string* version = value_of("NCCL_IB_ROCE_VERSION_NUM"))
    wish.roce_version = parse_integer<std::uint32_t>(trim(*version)).value_or(wish.roce_version);
  return wish;
}

GidChoice choose_gid(const RdmaPort& port, const GidWish& wish, std::uint32_t slots) {
  if (port.link_layer == LinkLayer::kInfiniBand) return choose_infiniband(port, wish);
  GidChoice choice;
  if (wish.index) {
    choice.index = *wish.index;
    choice.steps.push_back(step(choice.index, "NCCL_IB_GID_INDEX"));
  } else if (!wish.scans) {
    choice.steps.push_back(step(0, "the default before NCCL 2.21"));
  } else {
    choice.steps.push_back(step(0, "where the search begins"));
    std::uint32_t end = slots;
    for (const Gid& gid : port.gids)
      end = std::max(end, gid.index + 1);
    constexpr std::uint32_t kMost = 4096;  // tables have some hundred slots
    for (std::uint32_t i = 1; i < std::min(end, kMost); ++i) {
      if (!consider(port, wish, i, choice)) break;
    }
    if (choice.steps.size() == 1)
      choice.steps.push_back(std::string("no usable ") + (wish.family == GidFamily::kIpv4 ? "IPv4" : "IPv6") +
                             " entry after it" + (wish.range ? " in the range" : ""));
  }
  choice.entry = entry_at(port, choice.index);
  return choice;
}

}  // namespace angio::model
