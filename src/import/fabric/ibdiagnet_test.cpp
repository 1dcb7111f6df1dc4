#include "import/fabric/ibdiagnet.hpp"

#include <gtest/gtest.h>

#include "support/fabric_samples.hpp"

namespace angio::import::fabric {
namespace {

using model::FabricCounter;
using model::FabricNodeKind;
using model::LaneSpeedName;
using test::cables;
using test::import_fabric_sample;
using test::node_named;
using test::note_count;
using test::peer_of;
using test::port_of;

constexpr std::string_view kLeaf = "MF0;leaf-1:MQM8700/U1";

TEST(Ibdiagnet, ReadsNodesPortsAndCables) {
  const model::Fabric fabric = import_fabric_sample("ibdiagnet/whole.db_csv");
  ASSERT_EQ(fabric.nodes.size(), 3U);
  EXPECT_EQ(node_named(fabric, kLeaf).kind, FabricNodeKind::kSwitch);
  EXPECT_EQ(node_named(fabric, kLeaf).stated_ports, 41U);
  EXPECT_EQ(node_named(fabric, kLeaf).revision, 160U);
  EXPECT_EQ(node_named(fabric, "gpu-b, lower mlx5_0").device, 4123U) << "a comma in a name is no column";
  EXPECT_EQ(cables(fabric), 2U);
  EXPECT_EQ(peer_of(fabric, kLeaf, 2), "gpu-b, lower mlx5_0 port 1");
  EXPECT_TRUE(fabric.notes.empty());
}

TEST(Ibdiagnet, ReadsWhatAPortCanAndMay) {
  const model::Fabric fabric = import_fabric_sample("ibdiagnet/whole.db_csv");
  const model::FabricPort& port = port_of(fabric, "gpu-b, lower mlx5_0", 1);
  EXPECT_EQ(port.lanes, 1U);
  EXPECT_EQ(port.speed, LaneSpeedName::kEdr);
  EXPECT_EQ(port.most_lanes, 4U);
  EXPECT_EQ(port.most_speed, LaneSpeedName::kHdr);
  EXPECT_EQ(port.enabled_lanes, 4U);
  EXPECT_EQ(port.enabled_speed, LaneSpeedName::kFdr);
  EXPECT_EQ(port.state, model::PortState::kActive);
  EXPECT_EQ(port.mtu, 4096U);
  EXPECT_EQ(port.lid, Lid{22});
  EXPECT_EQ(port.sm_lid, Lid{1});
  const model::FabricPort& down = port_of(fabric, kLeaf, 3);
  EXPECT_EQ(down.state, model::PortState::kDown);
  EXPECT_EQ(down.physical_state, model::PortPhysicalState::kPolling);
  EXPECT_EQ(down.lanes, 0U) << "a port that is down says anything";
}

TEST(Ibdiagnet, ExternalPortsOfASwitchHaveNoLid) {
  const model::Fabric fabric = import_fabric_sample("ibdiagnet/whole.db_csv");
  EXPECT_EQ(port_of(fabric, kLeaf, 0).lid, Lid{11});
  EXPECT_EQ(port_of(fabric, kLeaf, 0).guid, 0xb8cef60300b00010U);
  EXPECT_EQ(port_of(fabric, kLeaf, 1).lid, std::nullopt);
  EXPECT_EQ(port_of(fabric, kLeaf, 1).guid, 0U);
}

TEST(Ibdiagnet, WideCountersWinOverNarrowOnes) {
  const model::Fabric fabric = import_fabric_sample("ibdiagnet/whole.db_csv");
  const model::CounterSet& first = port_of(fabric, kLeaf, 1).counters;
  EXPECT_EQ(first.get(FabricCounter::kSymbolErrors), 70000U);
  EXPECT_FALSE(first.is_stuck(FabricCounter::kSymbolErrors));
  EXPECT_EQ(first.get(FabricCounter::kTransmitBytes), 4000U);
  EXPECT_TRUE(first.is_stuck(FabricCounter::kLinkDowned)) << "8 bits, full; the device has no wide one";
  EXPECT_EQ(first.get(FabricCounter::kTransmitWait), 0U);
  const model::CounterSet& second = port_of(fabric, kLeaf, 2).counters;
  EXPECT_EQ(second.get(FabricCounter::kTransmitBytes), 20U);
  EXPECT_EQ(second.get(FabricCounter::kTransmitWait), 7U);
  EXPECT_EQ(second.get(FabricCounter::kReceiveErrors), std::nullopt);
}

TEST(Ibdiagnet, WhatIsCutOffIsTold) {
  const model::Fabric fabric = import_fabric_sample("ibdiagnet/truncated.db_csv");
  EXPECT_EQ(fabric.nodes.size(), 3U);
  EXPECT_EQ(port_of(fabric, "gpu-b, lower mlx5_0", 1).lid, Lid{22});
  EXPECT_EQ(cables(fabric), 0U);
  EXPECT_EQ(note_count(fabric, "fabric.cut-table"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.odd-row"), 1U);
}

TEST(Ibdiagnet, ReadsWhatIsReadableOfABrokenTable) {
  const model::Fabric fabric = import_fabric_sample("ibdiagnet/broken.db_csv");
  EXPECT_EQ(fabric.nodes.size(), 2U);
  EXPECT_EQ(cables(fabric), 1U);
  EXPECT_EQ(peer_of(fabric, "leaf-1", 7), "gpu-a mlx5_0 port 1");
  EXPECT_EQ(note_count(fabric, "fabric.cut-link"), 2U);
  EXPECT_EQ(note_count(fabric, "fabric.no-guid"), 2U);
  EXPECT_EQ(note_count(fabric, "fabric.odd-row"), 2U);
  EXPECT_EQ(note_count(fabric, "fabric.unknown-layout"), 1U) << "counters without the column of their node";
}

TEST(Ibdiagnet, ReadsTheListOfCables) {
  const model::Fabric fabric = import_fabric_sample("ibdiagnet/whole.lst");
  ASSERT_EQ(fabric.nodes.size(), 3U);
  EXPECT_EQ(node_named(fabric, kLeaf).stated_ports, 41U) << "0x29";
  EXPECT_EQ(node_named(fabric, "gpu-a mlx5_0").device, 0x101bU);
  EXPECT_EQ(peer_of(fabric, kLeaf, 20), "MF0;spine-1:MQM8700/U1 port 1") << "0x14";
  EXPECT_EQ(port_of(fabric, kLeaf, 1).speed, LaneSpeedName::kHdr);
  EXPECT_EQ(port_of(fabric, kLeaf, 20).state, model::PortState::kInit);
  EXPECT_EQ(port_of(fabric, kLeaf, 20).lanes, 1U);
  EXPECT_EQ(port_of(fabric, kLeaf, 0).lid, Lid{11});
  EXPECT_EQ(port_of(fabric, "gpu-a mlx5_0", 1).lid, Lid{21});
  EXPECT_EQ(note_count(fabric, "fabric.cut-line"), 1U);
}

TEST(Ibdiagnet, ReadsTheOldListWithoutNames) {
  const model::Fabric fabric = test::import_fabric_text(
      "{ CA Ports:02 SystemGUID:0002c90300110003 NodeGUID:0002c90300110000 PortGUID:0002c90300110001 "
      "VenID:000002c9 DevID:1003 Rev:00000000  LID:0005 PN:01 } { SW Ports:24 SystemGUID:0002c90300660000 "
      "NodeGUID:0002c90300660000 PortGUID:0002c90300660000 VenID:000002c9 DevID:c738 Rev:000000a1  LID:0002 "
      "PN:14 } "
      "PHY=4x LOG=ACT SPD=2.5\n");
  ASSERT_EQ(fabric.nodes.size(), 2U);
  EXPECT_EQ(fabric.nodes[0].stated_ports, 2U);
  EXPECT_EQ(fabric.nodes[1].stated_ports, 36U);
  ASSERT_NE(find_port(fabric.nodes[0], 1), nullptr);
  EXPECT_EQ(find_port(fabric.nodes[0], 1)->lid, Lid{5});
  EXPECT_EQ(find_port(fabric.nodes[0], 1)->speed, LaneSpeedName::kSdr);
  EXPECT_EQ(cables(fabric), 1U);
}

TEST(Ibdiagnet, CountersOfPmAreHexadecimal) {
  const model::Fabric fabric = import_fabric_sample("ibdiagnet/whole.pm");
  ASSERT_EQ(fabric.nodes.size(), 2U);
  const model::FabricPort* const port = find_port(fabric.nodes[0], 1);
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->lid, Lid{21});
  EXPECT_EQ(port->counters.get(FabricCounter::kLinkDowned), 2U);
  EXPECT_EQ(port->counters.get(FabricCounter::kSymbolErrors), 70000U);
  EXPECT_EQ(port->counters.get(FabricCounter::kTransmitBytes), 8000U);
  EXPECT_EQ(port->counters.get(FabricCounter::kTransmitDiscards), 7U);
  EXPECT_EQ(port->counters.get(FabricCounter::kTransmitWait), std::nullopt);
  EXPECT_EQ(note_count(fabric, "fabric.no-cables"), 1U);
}

TEST(Ibdiagnet, PmIsLaidOverATopology) {
  model::Fabric fabric = import_fabric_sample("ibdiagnet/whole.lst");
  ASSERT_TRUE(add_to_fabric(fabric, test::fabric_sample("ibdiagnet/whole.pm"), "whole.pm").has_value());
  EXPECT_EQ(fabric.nodes.size(), 3U);
  EXPECT_EQ(port_of(fabric, "gpu-a mlx5_0", 1).counters.get(FabricCounter::kLinkDowned), 2U);
  EXPECT_TRUE(port_of(fabric, kLeaf, 2).counters.is_stuck(FabricCounter::kLinkDowned));
  EXPECT_EQ(cables(fabric), 2U);
}

}  // namespace
}  // namespace angio::import::fabric
