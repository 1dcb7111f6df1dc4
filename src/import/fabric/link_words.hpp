// Widths, speeds, states, LIDs and counter widths in the spellings of fabric tools, to the model's values.
// The numbers are words of the formats: encodings of PortInfo (InfiniBand Architecture Specification, volume
// 1, 14.2.5.6) and the rates that libibmad and ibdiagnet print for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/fabric.hpp"

namespace angio::import::fabric {

struct LinkRate {
  std::uint8_t lanes = 0;
  model::LaneSpeedName speed = model::LaneSpeedName::kUnknown;
};

// "4xHDR", "12xQDR", "4x???", "?????"; none when the word is something else.
std::optional<LinkRate> parse_rate_word(std::string_view word);
std::uint8_t parse_lanes(std::string_view word);  // "4X", "4x"; 0 when it is no width that links have

// One lane: "25.78125", "10.0", "14" (ibdiagnet), "FDR10".
model::LaneSpeedName parse_lane_rate(std::string_view word);
// PortInfo:LinkSpeedExtActive, as ibnetdiscover --full prints it behind "e=".
model::LaneSpeedName speed_of_extended(std::uint32_t code);
// ibdiagnet's db_csv: LinkSpeed in the low byte, the extended speeds in the second, FDR10 in the third, XDR
// in the fourth. Of several bits the fastest counts.
model::LaneSpeedName fastest_of_bits(std::uint32_t bits);
// PortInfo:LinkWidth*: 1, 2 (4x), 4 (8x), 8 (12x), 16 (2x). Of several bits the widest counts.
std::uint8_t widest_of_bits(std::uint32_t bits);

model::PortState state_of_code(std::uint32_t code);
model::PortPhysicalState physical_state_of_code(std::uint32_t code);
// "Active", "ACT", "Initialize", "INI"; "LinkUp", "LINK UP", "LINK_UP", "Polling".
model::PortState parse_state(std::string_view word);
model::PortPhysicalState parse_physical_state(std::string_view word);
std::optional<std::uint32_t> mtu_of_code(std::uint32_t code);  // 5: 4096

// 1 to 0xBFFF: the unicast range.
std::optional<Lid> to_lid(std::uint64_t number);

// Sets a counter as the wire has it: data counters are 4-byte words. With narrow the counter is one of
// PortCounters (IBA 16.1.3.5), which stops at the top of its width; otherwise it has 64 bits.
void set_counter(model::CounterSet& counters, model::FabricCounter counter, std::uint64_t value, bool narrow);

}  // namespace angio::import::fabric
