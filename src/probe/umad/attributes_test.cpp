#include "probe/umad/attributes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace angio::probe::umad {
namespace {

using model::FabricCounter;
using model::LaneSpeedName;

using Bytes = std::array<std::uint8_t, kPayloadBytes>;

model::FabricPort port_of(const Bytes& bytes) {
  model::FabricPort port;
  apply_port_info(bytes, parse_speed_fields(bytes), port);
  return port;
}

// An active 4x port: extended speeds with a second field.
Bytes port_info() {
  Bytes bytes{};
  bytes[22] = 0xc0;  // CapabilityMask bits 14 and 15
  bytes[60] = 0x08;  // CapabilityMask2 bit 11
  bytes[29] = 0x03;
  bytes[30] = 0x13;  // 1x, 4x, 2x
  bytes[31] = 0x02;
  bytes[32] = 0x74;  // SDR to QDR; Active
  bytes[33] = 0x52;  // LinkUp
  bytes[35] = 0x4f;  // QDR; all enabled
  bytes[36] = 0x50;  // 4096
  return bytes;
}

TEST(UmadAttributes, NodeInfoFieldByField) {
  Bytes bytes{};
  bytes[2] = 2;
  bytes[3] = 65;
  bytes[11] = 0x11;
  bytes[19] = 0x22;
  bytes[27] = 0x33;
  bytes[30] = 0xd2;
  bytes[31] = 0xf2;
  bytes[35] = 0xa0;
  bytes[36] = 7;
  bytes[38] = 0x02;
  bytes[39] = 0xc9;
  const NodeInfo info = parse_node_info(bytes);
  EXPECT_EQ(info.kind, model::FabricNodeKind::kSwitch);
  EXPECT_EQ(info.ports, 65);
  EXPECT_EQ(info.system_guid, 0x11U);
  EXPECT_EQ(info.guid, 0x22U);
  EXPECT_EQ(info.port_guid, 0x33U);
  EXPECT_EQ(info.device, 0xd2f2U);
  EXPECT_EQ(info.revision, 0xa0U);
  EXPECT_EQ(info.local_port, 7);
  EXPECT_EQ(info.vendor, 0x2c9U);
  bytes[2] = 9;
  EXPECT_EQ(parse_node_info(bytes).kind, model::FabricNodeKind::kUnknown);
}

TEST(UmadAttributes, SpeedsFromSdrToXdr) {
  Bytes bytes = port_info();
  const std::array<std::pair<std::uint8_t, LaneSpeedName>, 5> extended = {{{0x00, LaneSpeedName::kQdr},
                                                                           {0x1f, LaneSpeedName::kFdr},
                                                                           {0x2f, LaneSpeedName::kEdr},
                                                                           {0x4f, LaneSpeedName::kHdr},
                                                                           {0x8f, LaneSpeedName::kNdr}}};
  for (const auto& [byte, speed] : extended) {
    bytes[62] = byte;
    EXPECT_EQ(port_of(bytes).speed, speed);
  }
  bytes[56] = 0x29;  // active 1, supported 1, enabled 1
  EXPECT_EQ(port_of(bytes).speed, LaneSpeedName::kXdr);
  EXPECT_EQ(port_of(bytes).most_speed, LaneSpeedName::kXdr);
  EXPECT_EQ(port_of(bytes).enabled_speed, LaneSpeedName::kXdr);
  bytes[60] = 0;  // the second field says nothing
  EXPECT_EQ(port_of(bytes).speed, LaneSpeedName::kNdr);
  bytes[22] = 0;  // nor does the first
  EXPECT_EQ(port_of(bytes).speed, LaneSpeedName::kQdr);
  bytes[35] = 0x1f;
  EXPECT_EQ(port_of(bytes).speed, LaneSpeedName::kSdr);
}

TEST(UmadAttributes, SupportedAndEnabledAreApart) {
  Bytes bytes = port_info();
  bytes[62] = 0x27;  // EDR runs, FDR to HDR supported
  bytes[63] = 3;     // FDR and EDR enabled
  EXPECT_EQ(port_of(bytes).most_speed, LaneSpeedName::kHdr);
  EXPECT_EQ(port_of(bytes).enabled_speed, LaneSpeedName::kEdr);
  bytes[63] = 30;  // extended speeds are off
  EXPECT_EQ(port_of(bytes).enabled_speed, LaneSpeedName::kQdr);
  bytes[63] = 31;  // whatever is supported
  EXPECT_EQ(port_of(bytes).enabled_speed, LaneSpeedName::kHdr);
}

TEST(UmadAttributes, Fdr10IsWhatTheVendorSays) {
  Bytes bytes = port_info();
  model::FabricPort port = port_of(bytes);
  Bytes vendor{};
  apply_vendor_port_info(vendor, port);
  EXPECT_EQ(port.speed, LaneSpeedName::kQdr);
  vendor[7] = vendor[11] = vendor[15] = 1;
  apply_vendor_port_info(vendor, port);
  EXPECT_EQ(port.speed, LaneSpeedName::kFdr10);
  EXPECT_EQ(port.most_speed, LaneSpeedName::kFdr10);
  EXPECT_EQ(port.enabled_speed, LaneSpeedName::kFdr10);
}

TEST(UmadAttributes, WidthsWithTwoLanes) {
  Bytes bytes = port_info();
  for (const auto& [mask, lanes] :
       std::array<std::pair<int, int>, 5>{{{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}}}) {
    bytes[31] = static_cast<std::uint8_t>(mask);
    EXPECT_EQ(port_of(bytes).lanes, lanes);
  }
  EXPECT_EQ(port_of(bytes).most_lanes, 4);
  EXPECT_EQ(port_of(bytes).enabled_lanes, 4);
  bytes[29] = 1;
  EXPECT_EQ(port_of(bytes).enabled_lanes, 1);
  bytes[29] = 255;
  EXPECT_EQ(port_of(bytes).enabled_lanes, 4);
}

TEST(UmadAttributes, WithoutALinkNothingRuns) {
  Bytes bytes = port_info();
  bytes[32] = 0x71;
  bytes[33] = 0x22;  // Polling
  const model::FabricPort port = port_of(bytes);
  EXPECT_EQ(port.state, model::PortState::kDown);
  EXPECT_EQ(port.physical_state, model::PortPhysicalState::kPolling);
  EXPECT_EQ(port.lanes, 0);
  EXPECT_EQ(port.speed, LaneSpeedName::kUnknown);
  EXPECT_FALSE(port.mtu.has_value());
  EXPECT_EQ(port_of(port_info()).mtu, 4096U);
}

TEST(UmadAttributes, CountersStandStillAtTheTopOfTheirWidth) {
  Bytes bytes{};
  bytes[4] = 0xff;
  bytes[5] = 0xff;  // symbol errors, 16 bits
  bytes[6] = 0xff;  // link error recoveries, 8 bits
  bytes[7] = 0xfe;
  bytes[19] = 0xf3;  // local link integrity 15, overruns 3
  bytes[27] = 2;     // 2 words
  for (std::size_t i = 32; i < 36; ++i)
    bytes.at(i) = 0xff;
  bytes[43] = 9;
  model::CounterSet counters;
  apply_counters(bytes, {}, counters);
  EXPECT_EQ(counters.get(FabricCounter::kSymbolErrors), 65535U);
  EXPECT_TRUE(counters.is_stuck(FabricCounter::kSymbolErrors));
  EXPECT_TRUE(counters.is_stuck(FabricCounter::kLinkErrorRecoveries));
  EXPECT_EQ(counters.get(FabricCounter::kLinkDowned), 254U);
  EXPECT_FALSE(counters.is_stuck(FabricCounter::kLinkDowned));
  EXPECT_EQ(counters.get(FabricCounter::kLocalLinkIntegrityErrors), 15U);
  EXPECT_TRUE(counters.is_stuck(FabricCounter::kLocalLinkIntegrityErrors));
  EXPECT_EQ(counters.get(FabricCounter::kExcessiveBufferOverruns), 3U);
  EXPECT_EQ(counters.get(FabricCounter::kTransmitBytes), 8U);
  EXPECT_EQ(counters.get(FabricCounter::kTransmitPackets), 0xffffffffU);
  EXPECT_TRUE(counters.is_stuck(FabricCounter::kTransmitPackets));
  EXPECT_FALSE(counters.get(FabricCounter::kTransmitWait).has_value());  // not said to be supported
  apply_counters(bytes, {.wait = true}, counters);
  EXPECT_EQ(counters.get(FabricCounter::kTransmitWait), 9U);
}

TEST(UmadAttributes, ExtendedCountersReplaceThe32BitOnes) {
  Bytes bytes{};
  bytes[27] = 2;
  model::CounterSet counters;
  const CounterAbilities extended{.extended = true};
  apply_counters(bytes, extended, counters);
  EXPECT_FALSE(counters.get(FabricCounter::kTransmitBytes).has_value());
  Bytes wide{};
  wide[8] = 0x7f;  // words beyond what bytes of 64 bits can tell
  wide[23] = 3;    // received words
  wide[79] = 200;  // symbol errors, only where the agent has them
  apply_extended_counters(wide, extended, counters);
  EXPECT_EQ(counters.get(FabricCounter::kTransmitBytes), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(counters.get(FabricCounter::kReceiveBytes), 12U);
  EXPECT_EQ(counters.get(FabricCounter::kSymbolErrors), 0U);
  apply_extended_counters(wide, {.extended = true, .additional = true}, counters);
  EXPECT_EQ(counters.get(FabricCounter::kSymbolErrors), 200U);
}

TEST(UmadAttributes, AbilitiesOfTheAgent) {
  Bytes bytes{};
  bytes[2] = 0x17;  // bits 8, 9, 10 and 12
  bytes[7] = 0x40;  // bit 1 of the upper 27
  const CounterAbilities all = parse_abilities(bytes);
  EXPECT_TRUE(all.extended && all.additional && all.wait && all.all_ports);
  bytes[2] = 0;
  EXPECT_FALSE(parse_abilities(bytes).additional);
}

TEST(UmadAttributes, SumsOfZeroMeanNoErrorAnywhere) {
  Bytes bytes{};
  bytes[24] = 1;  // data is no error
  EXPECT_TRUE(counts_no_errors(bytes, {.extended = true, .all_ports = true}));
  bytes[43] = 1;  // PortXmitWait counts where the agent has it
  EXPECT_TRUE(counts_no_errors(bytes, {.extended = true}));
  EXPECT_FALSE(counts_no_errors(bytes, {.extended = true, .wait = true}));
  bytes[19] = 1;
  EXPECT_FALSE(counts_no_errors(bytes, {.extended = true}));
}

TEST(UmadAttributes, DescriptionsEndAtTheFirstNul) {
  Bytes bytes{};
  bytes.fill('x');
  EXPECT_EQ(parse_description(bytes), std::string(64, 'x'));
  bytes[3] = 0;
  EXPECT_EQ(parse_description(bytes), "xxx");
}

}  // namespace
}  // namespace angio::probe::umad
