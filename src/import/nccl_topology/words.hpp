// Words of NCCL's topology XML to values: affinity masks, byte-swapped GUIDs, CPUID families.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/cpu_set.hpp"
#include "model/gpu.hpp"

namespace angio::import::nccl_topology {

std::optional<std::uint32_t> parse_hex(std::string_view text);    // "0x10de"
std::optional<std::int64_t> parse_number(std::string_view text);  // strtol(…, 0): "-1", "0x10"

// NCCL adds the extended family shifted by four (175 for family 25), other writers give the real one.
std::uint32_t real_family(std::uint32_t written);

// NCCL prints the big-endian system image GUID as a host integer: "0xa87cb10003e1a258" is
// 58a2:e103:00b1:7ca8. None for the small numbers that plugins invent.
std::optional<std::string> parse_guid(std::string_view text);

// What an nvlink or xgmi element points at, by its tclass.
model::PeerKind peer_kind(std::string_view target_class);

}  // namespace angio::import::nccl_topology
