#include "model/fabric.hpp"

#include <gtest/gtest.h>

#include "model/fabric_report.hpp"
#include "model/fabric_words.hpp"

namespace angio::model {
namespace {

FabricNode node_with(std::uint64_t guid, std::string description, std::vector<std::uint32_t> numbers) {
  FabricNode node;
  node.guid = {guid};
  node.description = std::move(description);
  for (const std::uint32_t number : numbers) {
    FabricPort port;
    port.number = number;
    node.ports.push_back(port);
  }
  return node;
}

Fabric two_nodes() {
  Fabric fabric;
  fabric.nodes = {node_with(0x10, "leaf-1 ", {0, 1, 5}), node_with(0x20, "", {1})};
  return fabric;
}

TEST(Fabric, GuidsPrintAsInfinibandDiagsDo) {
  EXPECT_EQ(to_string(NodeGuid{0x2c9030011aabb}), "0x0002c9030011aabb");
}

TEST(Fabric, FindsPortsByNumber) {
  const Fabric fabric = two_nodes();
  ASSERT_NE(find_port(fabric.nodes[0], 5), nullptr);
  EXPECT_EQ(find_port(fabric.nodes[0], 5)->number, 5U);
  EXPECT_EQ(find_port(fabric.nodes[0], 3), nullptr);
}

TEST(Fabric, ConnectsInBothDirections) {
  Fabric fabric = two_nodes();
  EXPECT_TRUE(connect(fabric, {0, 1}, {1, 0}));
  EXPECT_EQ(port_at(fabric, {1, 0}).peer, (PortRef{0, 1}));
  EXPECT_TRUE(connect(fabric, {1, 0}, {0, 1}));
}

TEST(Fabric, KeepsAPeerThatIsThere) {
  Fabric fabric = two_nodes();
  ASSERT_TRUE(connect(fabric, {0, 1}, {1, 0}));
  EXPECT_FALSE(connect(fabric, {0, 2}, {1, 0}));
  EXPECT_FALSE(port_at(fabric, {0, 2}).peer.has_value());
  EXPECT_EQ(port_at(fabric, {1, 0}).peer, (PortRef{0, 1}));
}

TEST(Fabric, RefusesPortsThatAreNotThere) {
  Fabric fabric = two_nodes();
  EXPECT_FALSE(connect(fabric, {0, 9}, {1, 0}));
  EXPECT_FALSE(connect(fabric, {7, 0}, {1, 0}));
}

TEST(Fabric, DescribesByNameOrGuid) {
  Fabric fabric = two_nodes();
  EXPECT_EQ(describe(fabric, {0, 2}), "leaf-1 port 5");
  EXPECT_EQ(describe(fabric, {1, 0}), "0x0000000000000020 port 1");
  fabric.nodes[0].ports[1].name = "Ethernet12";
  EXPECT_EQ(describe(fabric, {0, 1}), "leaf-1 Ethernet12");
}

TEST(Fabric, FindsLaneSpeedsInEitherCase) {
  EXPECT_EQ(find_lane_speed("HDR"), LaneSpeedName::kHdr);
  EXPECT_EQ(find_lane_speed("fdr10"), LaneSpeedName::kFdr10);
  EXPECT_EQ(find_lane_speed("???"), LaneSpeedName::kUnknown);
  EXPECT_EQ(find_lane_speed(""), LaneSpeedName::kUnknown);
}

TEST(Fabric, KnowsTheSpellingsOfCounters) {
  EXPECT_EQ(find_fabric_counter("PortXmitWait"), FabricCounter::kTransmitWait);
  EXPECT_EQ(find_fabric_counter("XmtWait"), FabricCounter::kTransmitWait);
  EXPECT_EQ(find_fabric_counter("SymbolErrorCounterExt"), FabricCounter::kSymbolErrors);
  EXPECT_EQ(find_fabric_counter("port_rcv_data_extended"), FabricCounter::kReceiveBytes);
  EXPECT_EQ(find_fabric_counter("excessive_buffer_overrun_errors"), FabricCounter::kExcessiveBufferOverruns);
  EXPECT_EQ(find_fabric_counter("link_down_counter"), FabricCounter::kLinkDowned);
  EXPECT_EQ(find_fabric_counter("PortUnicastXmitPkts"), std::nullopt);
}

TEST(Fabric, EveryNameOfACounterIsFound) {
  for (std::size_t i = 0; i < kFabricCounters; ++i) {
    const auto counter = static_cast<FabricCounter>(i);
    EXPECT_EQ(find_fabric_counter(name_of(counter)), counter);
    EXPECT_EQ(find_counter_word(word_of(counter)), counter);
  }
}

TEST(Fabric, StatesAreFoundByTheirNames) {
  EXPECT_EQ(find_port_state("Active"), PortState::kActive);
  EXPECT_EQ(find_physical_state("linkup"), PortPhysicalState::kLinkUp);
  EXPECT_EQ(find_physical_state("Dancing"), std::nullopt);
  EXPECT_EQ(name_of(FabricChangeKind::kReplaced), "replaced");
  EXPECT_EQ(name_of(FabricChangeKind::kCableMoved), "cable moved");
  EXPECT_EQ(name_of(FabricChangeKind::kLid), "LID");
  EXPECT_EQ(name_of(FabricShape::kFatTree), "fat tree");
  EXPECT_EQ(name_of(PlaneRole::kStorage), "storage");
}

}  // namespace
}  // namespace angio::model
