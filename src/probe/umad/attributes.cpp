#include "probe/umad/attributes.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace angio::probe::umad {
namespace {

using model::FabricCounter;
using model::LaneSpeedName;

std::uint64_t field(Payload payload, std::size_t at, std::size_t bytes) {
  return big_endian(payload.subspan(at, bytes));
}

// A mask of widths to the widest. 14.2.5.6: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x, 16 is 2x.
std::uint8_t widest(unsigned mask) {
  if ((mask & 8U) != 0) return 12;
  if ((mask & 4U) != 0) return 8;
  if ((mask & 2U) != 0) return 4;
  if ((mask & 16U) != 0) return 2;
  return (mask & 1U) != 0 ? 1 : 0;
}

// The speed fields of one kind (active, supported, enabled) as masks.
struct SpeedMasks {
  unsigned base = 0;       // 1 SDR, 2 DDR, 4 QDR
  unsigned extended = 0;   // 1 FDR, 2 EDR, 4 HDR, 8 NDR
  unsigned extended2 = 0;  // 1 XDR
};

LaneSpeedName fastest(const SpeedMasks& masks) {
  if ((masks.extended2 & 1U) != 0) return LaneSpeedName::kXdr;
  if ((masks.extended & 8U) != 0) return LaneSpeedName::kNdr;
  if ((masks.extended & 4U) != 0) return LaneSpeedName::kHdr;
  if ((masks.extended & 2U) != 0) return LaneSpeedName::kEdr;
  if ((masks.extended & 1U) != 0) return LaneSpeedName::kFdr;
  if ((masks.base & 4U) != 0) return LaneSpeedName::kQdr;
  if ((masks.base & 2U) != 0) return LaneSpeedName::kDdr;
  return (masks.base & 1U) != 0 ? LaneSpeedName::kSdr : LaneSpeedName::kUnknown;
}

struct Speeds {
  SpeedMasks active, supported, enabled;
};

// Byte 56 as rdma-core 49 and the kernel's mlx5 read it: active 2 bits, supported 2, enabled 3 from bit 6 on.
Speeds speeds_of(Payload info, SpeedFields fields) {
  Speeds speeds;
  speeds.supported.base = info[32] >> 4U;
  speeds.active.base = info[35] >> 4U;
  speeds.enabled.base = info[35] & 15U;
  if (speeds.enabled.base == 15) speeds.enabled.base = speeds.supported.base;  // "all that is supported"
  if (fields.extended) {
    speeds.active.extended = info[62] >> 4U;
    speeds.supported.extended = info[62] & 15U;
    const unsigned enabled = info[63] & 31U;
    // 30: extended speeds are off; 31: all that is supported
    speeds.enabled.extended = enabled == 30 ? 0 : enabled == 31 ? speeds.supported.extended : enabled;
  }
  if (fields.extended2) {
    speeds.active.extended2 = (info[56] >> 5U) & 3U;
    speeds.supported.extended2 = (info[56] >> 3U) & 3U;
    const unsigned enabled = info[56] & 7U;
    speeds.enabled.extended2 = enabled == 6 ? 0 : enabled == 7 ? speeds.supported.extended2 : enabled;
  }
  return speeds;
}

struct CounterField {
  FabricCounter counter;
  std::size_t at;
  unsigned bits;  // 4: the upper half of the byte, 5: the lower half
};

constexpr unsigned kUpperNibble = 4;
constexpr unsigned kLowerNibble = 5;

// PortCounters, 16.1.3.5. They stand still at the top of their width.
constexpr std::array kErrorFields = {
    CounterField{FabricCounter::kSymbolErrors, 4, 16},
    CounterField{FabricCounter::kLinkErrorRecoveries, 6, 8},
    CounterField{FabricCounter::kLinkDowned, 7, 8},
    CounterField{FabricCounter::kReceiveErrors, 8, 16},
    CounterField{FabricCounter::kReceiveRemotePhysicalErrors, 10, 16},
    CounterField{FabricCounter::kReceiveSwitchRelayErrors, 12, 16},
    CounterField{FabricCounter::kTransmitDiscards, 14, 16},
    CounterField{FabricCounter::kTransmitConstraintErrors, 16, 8},
    CounterField{FabricCounter::kReceiveConstraintErrors, 17, 8},
    CounterField{FabricCounter::kLocalLinkIntegrityErrors, 19, kUpperNibble},
    CounterField{FabricCounter::kExcessiveBufferOverruns, 19, kLowerNibble},
    CounterField{FabricCounter::kVl15Dropped, 22, 16},
};
constexpr std::array kDataFields = {
    CounterField{FabricCounter::kTransmitBytes, 24, 32},
    CounterField{FabricCounter::kReceiveBytes, 28, 32},
    CounterField{FabricCounter::kTransmitPackets, 32, 32},
    CounterField{FabricCounter::kReceivePackets, 36, 32},
};
constexpr CounterField kWaitField{FabricCounter::kTransmitWait, 40, 32};

// PortCountersExtended, 16.1.4.11.
constexpr std::array kExtendedDataFields = {
    CounterField{FabricCounter::kTransmitBytes, 8, 64},
    CounterField{FabricCounter::kReceiveBytes, 16, 64},
    CounterField{FabricCounter::kTransmitPackets, 24, 64},
    CounterField{FabricCounter::kReceivePackets, 32, 64},
};
constexpr std::array kExtendedErrorFields = {
    CounterField{FabricCounter::kSymbolErrors, 72, 64},
    CounterField{FabricCounter::kLinkErrorRecoveries, 80, 64},
    CounterField{FabricCounter::kLinkDowned, 88, 64},
    CounterField{FabricCounter::kReceiveErrors, 96, 64},
    CounterField{FabricCounter::kReceiveRemotePhysicalErrors, 104, 64},
    CounterField{FabricCounter::kReceiveSwitchRelayErrors, 112, 64},
    CounterField{FabricCounter::kTransmitDiscards, 120, 64},
    CounterField{FabricCounter::kTransmitConstraintErrors, 128, 64},
    CounterField{FabricCounter::kReceiveConstraintErrors, 136, 64},
    CounterField{FabricCounter::kLocalLinkIntegrityErrors, 144, 64},
    CounterField{FabricCounter::kExcessiveBufferOverruns, 152, 64},
    CounterField{FabricCounter::kVl15Dropped, 160, 64},
    CounterField{FabricCounter::kTransmitWait, 168, 64},
};

bool counts_words(FabricCounter counter) {
  return counter == FabricCounter::kTransmitBytes || counter == FabricCounter::kReceiveBytes;
}

void apply(Payload payload, const CounterField& where, model::CounterSet& counters) {
  std::uint64_t value = 0;
  std::uint64_t top = 15;
  if (where.bits == kUpperNibble) {
    value = payload[where.at] >> 4U;
  } else if (where.bits == kLowerNibble) {
    value = payload[where.at] & 15U;
  } else {
    value = field(payload, where.at, where.bits / 8);
    top = std::numeric_limits<std::uint64_t>::max() >> (64 - where.bits);
  }
  const bool stuck = value == top;
  if (counts_words(where.counter)) {  // 4 bytes each
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    value = value > kMost / 4 ? kMost : value * 4;
  }
  counters.set(where.counter, value, stuck);
}

}  // namespace

NodeInfo parse_node_info(Payload payload) {
  NodeInfo info;
  info.type = payload[2];
  constexpr std::array kKinds = {model::FabricNodeKind::kUnknown, model::FabricNodeKind::kAdapter,
                                 model::FabricNodeKind::kSwitch, model::FabricNodeKind::kRouter};
  if (info.type < kKinds.size()) info.kind = kKinds.at(info.type);
  info.ports = payload[3];
  info.system_guid = field(payload, 4, 8);
  info.guid = field(payload, 12, 8);
  info.port_guid = field(payload, 20, 8);
  info.device = static_cast<std::uint32_t>(field(payload, 30, 2));
  info.revision = static_cast<std::uint32_t>(field(payload, 32, 4));
  info.local_port = payload[36];
  info.vendor = static_cast<std::uint32_t>(field(payload, 37, 3));
  return info;
}

std::string parse_description(Payload payload) {
  const auto text = payload.first<64>();
  return {text.begin(), std::ranges::find(text, std::uint8_t{0})};
}

bool has_enhanced_port0(Payload switch_info) {
  return (switch_info[16] & 8U) != 0;
}

SpeedFields parse_speed_fields(Payload port_info) {
  // CapabilityMask: bit 14 extended speeds, bit 15 CapabilityMask2 holds something; there bit 11 is
  // IsExtendedSpeeds2Supported.
  const std::uint64_t mask = field(port_info, 20, 4);
  const std::uint64_t mask2 = (mask & (1U << 15U)) != 0 ? field(port_info, 60, 2) : 0;
  const bool extended = (mask & (1U << 14U)) != 0;
  return {extended, extended && (mask2 & (1U << 11U)) != 0};
}

PortLids parse_lids(Payload port_info) {
  return {static_cast<std::uint16_t>(field(port_info, 16, 2)),
          static_cast<std::uint16_t>(field(port_info, 18, 2)), static_cast<std::uint8_t>(port_info[34] & 7U)};
}

void apply_port_info(Payload port_info, SpeedFields fields, model::FabricPort& port) {
  const unsigned state = port_info[32] & 15U;
  // 5 is ActiveDefer: a link that recovers and carries nothing for a moment
  port.state = state <= 4   ? static_cast<model::PortState>(state)
               : state == 5 ? model::PortState::kActive
                            : model::PortState::kUnknown;
  const unsigned physical = port_info[33] >> 4U;
  port.physical_state =
      physical <= 7 ? static_cast<model::PortPhysicalState>(physical) : model::PortPhysicalState::kUnknown;
  const Speeds speeds = speeds_of(port_info, fields);
  port.most_lanes = widest(port_info[30]);
  port.most_speed = fastest(speeds.supported);
  port.enabled_lanes = port_info[29] == 255 ? port.most_lanes : widest(port_info[29]);
  port.enabled_speed = fastest(speeds.enabled);
  // Without a link the active fields hold what was there before.
  const bool linked = port.physical_state == model::PortPhysicalState::kLinkUp;
  port.lanes = linked ? widest(port_info[31]) : std::uint8_t{0};
  port.speed = linked ? fastest(speeds.active) : LaneSpeedName::kUnknown;
  const unsigned mtu = port_info[36] >> 4U;
  if (mtu >= 1 && mtu <= 5 && linked) port.mtu = 128U << mtu;
}

void apply_vendor_port_info(Payload payload, model::FabricPort& port) {
  const auto raise = [](std::uint8_t mask, LaneSpeedName& speed) {
    if ((mask & 1U) != 0 && speed == LaneSpeedName::kQdr) speed = LaneSpeedName::kFdr10;
  };
  raise(payload[7], port.most_speed);
  raise(payload[11], port.enabled_speed);
  raise(payload[15], port.speed);
}

CounterAbilities parse_abilities(Payload class_port_info) {
  // CapabilityMask of the performance class, 16.1.3.1: bit 8 AllPortSelect, bit 9 extended counters, bit 10
  // those without unicast and multicast, bit 12 PortXmitWait. CapabilityMask2, the upper 27 bits of a word:
  // bit 1 additional ones.
  const std::uint64_t mask = field(class_port_info, 2, 2);
  const std::uint64_t mask2 = field(class_port_info, 4, 4) >> 5U;
  CounterAbilities abilities;
  abilities.extended = (mask & (3U << 9U)) != 0;
  abilities.wait = (mask & (1U << 12U)) != 0;
  abilities.all_ports = (mask & (1U << 8U)) != 0;
  abilities.additional = abilities.extended && (mask2 & 2U) != 0;
  return abilities;
}

void apply_counters(Payload port_counters, const CounterAbilities& abilities, model::CounterSet& counters) {
  for (const CounterField& where : kErrorFields)
    apply(port_counters, where, counters);
  if (abilities.wait) apply(port_counters, kWaitField, counters);
  if (abilities.extended) return;  // the 32-bit ones are full after seconds
  for (const CounterField& where : kDataFields)
    apply(port_counters, where, counters);
}

bool counts_no_errors(Payload port_counters, const CounterAbilities& abilities) {
  model::CounterSet sums;
  CounterAbilities errors_only = abilities;
  errors_only.extended = true;
  apply_counters(port_counters, errors_only, sums);
  for (std::size_t i = 0; i < model::kFabricCounters; ++i) {
    if (sums.get(static_cast<FabricCounter>(i)).value_or(0) != 0) return false;
  }
  return true;
}

void apply_no_errors(const CounterAbilities& abilities, model::CounterSet& counters) {
  for (const CounterField& where : kErrorFields)
    counters.set(where.counter, 0);
  if (abilities.wait) counters.set(kWaitField.counter, 0);
}

void apply_extended_counters(Payload payload, const CounterAbilities& abilities,
                             model::CounterSet& counters) {
  for (const CounterField& where : kExtendedDataFields)
    apply(payload, where, counters);
  if (!abilities.additional) return;
  for (const CounterField& where : kExtendedErrorFields)
    apply(payload, where, counters);
}

}  // namespace angio::probe::umad
