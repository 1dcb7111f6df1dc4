// Which entry of a port's GID table NCCL's own InfiniBand transport takes, and why: its rules as a pure
// function, after NVIDIA/nccl src/transport/net_ib/connect.cc, ncclIbGetGidIndex and ncclUpdateGidIndex. Not
// a judgement: rules and views ask. What an entry means ("RoCE v2, IPv4 10.0.0.5") is here too, for whoever
// shows a table.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/network.hpp"

namespace angio::model {

using RawGid = std::array<std::uint8_t, 16>;
std::optional<RawGid> parse_gid(std::string_view text);  // "fe80:0000:…", eight groups as sysfs prints them

enum class GidFamily : std::uint8_t { kIpv4, kIpv6 };
GidFamily family_of(const RawGid& gid);  // IPv4: mapped, ::ffff:a.b.c.d
bool is_zero(const RawGid& gid);
bool is_link_local(const RawGid& gid);      // fe80::/64
bool is_usable(const RawGid& gid);          // set, and not link-local
std::string address_of(const RawGid& gid);  // "10.0.0.5"; IPv6 as sysfs prints it

// "RoCE v2, IPv4", "RoCE v1, link-local", "RoCE v2, IPv6", "another namespace's": equal words, equal use.
std::string meaning_of(const Gid& gid);

struct GidRange {
  RawGid base{};
  std::uint32_t bits = 0;  // counted from the front of the address: of the last four bytes for IPv4
};

// What NCCL was told, and what its release does.
struct GidWish {
  std::optional<std::uint32_t> index;  // NCCL_IB_GID_INDEX of 0 and above
  GidFamily family = GidFamily::kIpv4;
  std::optional<GidRange> range;  // NCCL_IB_ADDR_RANGE
  std::uint32_t roce_version = 2;
  bool scans = true;          // 2.21.5 and newer; before, the default is index 0
  bool survives_gaps = true;  // 2.26.2 and newer: an entry without a readable type ends nothing
  std::optional<std::uint32_t> flid_index = 1;  // NCCL_IB_ROUTABLE_FLID_GID_INDEX, 2.22.3 and newer
};
// From NCCL_IB_GID_INDEX, NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE and NCCL_IB_ROCE_VERSION_NUM; value_of
// gives null for what is not set. What the release does stays as it is above.
GidWish wish_of(const std::function<const std::string*(std::string_view)>& value_of);
// "10.1.0.0/16" as NCCL reads it; none where it ignores the text.
std::optional<GidRange> parse_range(std::string_view text, GidFamily family);

struct GidChoice {
  std::uint32_t index = 0;
  bool fails = false;              // this release ends the job at an entry whose type cannot be read
  const Gid* entry = nullptr;      // what lies there; null: the slot is empty
  std::vector<std::string> steps;  // "index 0: where it starts", "index 2: the first IPv4 entry"
};
// slots: size of the table where known; NCCL looks at empty slots too.
GidChoice choose_gid(const RdmaPort& port, const GidWish& wish, std::uint32_t slots = 0);

}  // namespace angio::model
