#include "import/fabric/iblinkinfo.hpp"

#include <gtest/gtest.h>

#include "support/fabric_samples.hpp"

namespace angio::import::fabric {
namespace {

using model::FabricNodeKind;
using model::LaneSpeedName;
using model::PortPhysicalState;
using model::PortState;
using test::cables;
using test::import_fabric_sample;
using test::import_fabric_text;
using test::node_named;
using test::note_count;
using test::peer_of;
using test::port_of;

constexpr std::string_view kLeaf = "MF0;leaf-1:MQM8700/U1";

void expect_the_fabric(const model::Fabric& fabric) {
  EXPECT_EQ(fabric.nodes.size(), 3U);
  EXPECT_EQ(cables(fabric), 2U);
  EXPECT_EQ(node_named(fabric, kLeaf).kind, FabricNodeKind::kSwitch);
  EXPECT_EQ(node_named(fabric, kLeaf).guid.value, 0xb8cef60300b00010U);
  EXPECT_EQ(node_named(fabric, "gpu-a mlx5_0").kind, FabricNodeKind::kAdapter);
  EXPECT_EQ(peer_of(fabric, kLeaf, 2), "gpu-b mlx5_0 port 1");
  const model::FabricPort& slow = port_of(fabric, kLeaf, 2);
  EXPECT_EQ(slow.lanes, 1U);
  EXPECT_EQ(slow.speed, LaneSpeedName::kEdr);
  EXPECT_EQ(slow.most_lanes, 4U);
  EXPECT_EQ(slow.most_speed, LaneSpeedName::kHdr);
  EXPECT_EQ(slow.state, PortState::kActive);
  const model::FabricPort& good = port_of(fabric, kLeaf, 1);
  EXPECT_EQ(good.lanes, 4U);
  EXPECT_EQ(good.speed, LaneSpeedName::kHdr);
  EXPECT_EQ(good.most_lanes, 0U) << "what runs at its best says nothing more";
  EXPECT_EQ(port_of(fabric, kLeaf, 3).state, PortState::kDown);
  EXPECT_EQ(port_of(fabric, kLeaf, 3).physical_state, PortPhysicalState::kPolling);
  EXPECT_EQ(port_of(fabric, kLeaf, 4).physical_state, PortPhysicalState::kDisabled);
  EXPECT_EQ(port_of(fabric, kLeaf, 3).lanes, 0U);
  EXPECT_EQ(port_of(fabric, kLeaf, 0).lid, Lid{11});
  EXPECT_EQ(port_of(fabric, "gpu-b mlx5_0", 1).lid, Lid{22});
  EXPECT_EQ(port_of(fabric, "gpu-b mlx5_0", 1).guid, 0xb8cef60300a00002U);
}

TEST(Iblinkinfo, ReadsTheDefaultForm) {
  const model::Fabric fabric = import_fabric_sample("iblinkinfo/whole.txt");
  expect_the_fabric(fabric);
  EXPECT_EQ(note_count(fabric, "fabric.port-guids-only"), 1U);
  EXPECT_EQ(fabric.notes.size(), 1U);
}

TEST(Iblinkinfo, WithoutTheLinesOfAdaptersBothEndsKnowWhatTheyCould) {
  const model::Fabric fabric = import_fabric_text(R"(Switch: 0xb8cef60300b00010 MF0;leaf-1:MQM8700/U1:
          11    2[  ] ==( 1X      25.78125 Gbps Active/  LinkUp)==>      22    1[  ] "gpu-b mlx5_0" (Could be 4X Could be 53.125 Gbps)
)");
  EXPECT_EQ(port_of(fabric, kLeaf, 2).most_lanes, 4U);
  EXPECT_EQ(port_of(fabric, "gpu-b mlx5_0", 1).most_lanes, 4U);
  EXPECT_EQ(port_of(fabric, "gpu-b mlx5_0", 1).most_speed, LaneSpeedName::kHdr);
}

TEST(Iblinkinfo, OneLineALinkGivesTheSame) {
  const model::Fabric fabric = import_fabric_sample("iblinkinfo/line.txt");
  expect_the_fabric(fabric);
  EXPECT_EQ(note_count(fabric, "fabric.kinds-inferred"), 1U);
}

TEST(Iblinkinfo, WhatIsCutOffIsCounted) {
  const model::Fabric fabric = import_fabric_sample("iblinkinfo/truncated.txt");
  EXPECT_EQ(cables(fabric), 2U) << "the other ends tell of both cables";
  EXPECT_EQ(note_count(fabric, "fabric.cut-line"), 1U);
  EXPECT_EQ(find_port(node_named(fabric, kLeaf), 3), nullptr);
}

TEST(Iblinkinfo, ReadsWhatIsReadableOfABrokenText) {
  const model::Fabric fabric = import_fabric_sample("iblinkinfo/broken.txt");
  EXPECT_EQ(note_count(fabric, "fabric.port-without-node"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.cut-line"), 1U);
  EXPECT_EQ(peer_of(fabric, "leaf-1", 1), "gpu-a mlx5_0 port 1");
  EXPECT_EQ(port_of(fabric, "leaf-1", 1).speed, LaneSpeedName::kFdr10);
  EXPECT_EQ(port_of(fabric, "leaf-1", 2).trouble, "the port at the other end did not answer");
  EXPECT_FALSE(port_of(fabric, "leaf-1", 2).peer.has_value());
}

TEST(Iblinkinfo, ANeighbourWithoutItsOwnLinesIsANode) {
  const model::Fabric fabric = import_fabric_sample("iblinkinfo/broken.txt");
  EXPECT_EQ(node_named(fabric, "gpu-a mlx5_0").kind, FabricNodeKind::kUnknown);
  EXPECT_EQ(port_of(fabric, "gpu-a mlx5_0", 1).lid, Lid{21});
}

TEST(Iblinkinfo, NdrAndXdrByTheirRates) {
  const auto ndr = parse_link_line(
      "  37   12[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>  91   1[  ] \"gpu-a mlx5_0\" ( )");
  ASSERT_TRUE(ndr.has_value());
  EXPECT_EQ(ndr->rate.speed, LaneSpeedName::kNdr);
  const auto xdr = parse_link_line(
      "  37   12[  ] ==( 4X         212.5 Gbps Initialize/  LinkUp)==>  91   1[  ] \"gpu-a mlx5_0\" ( )");
  ASSERT_TRUE(xdr.has_value());
  EXPECT_EQ(xdr->rate.speed, LaneSpeedName::kXdr);
  EXPECT_EQ(xdr->state, PortState::kInit);
}

TEST(Iblinkinfo, ANetworkWithoutLidsIsJoinedByNames) {
  const model::Fabric fabric = test::import_fabric_text(
      "CA: gpu-a mlx5_0:\n"
      "      0xb8cef60300a00001      0    1[  ] ==( 4X 53.125 Gbps Initialize/  LinkUp)==>       0    7[  ] "
      "\"leaf\" ( )\n"
      "Switch: 0xb8cef60300b00010 leaf:\n"
      "           0    7[  ] ==( 4X 53.125 Gbps Initialize/  LinkUp)==>       0    1[  ] \"gpu-a mlx5_0\" ( "
      ")\n");
  EXPECT_EQ(fabric.nodes.size(), 2U);
  EXPECT_EQ(peer_of(fabric, "leaf", 7), "gpu-a mlx5_0 port 1");
}

}  // namespace
}  // namespace angio::import::fabric
