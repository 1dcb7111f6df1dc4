#include "import/fabric/ibnetdiscover.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "import/fabric/ibnetdiscover_line.hpp"
#include "support/fabric_samples.hpp"

namespace angio::import::fabric {
namespace {

using model::FabricNodeKind;
using model::LaneSpeedName;
using test::cables;
using test::import_fabric_sample;
using test::import_fabric_text;
using test::node_named;
using test::note_count;
using test::note_text;
using test::peer_of;
using test::port_of;

constexpr std::string_view kLeaf = "MF0;leaf-1:MQM8700/U1";
constexpr std::string_view kSpine = "MF0;spine-1:MQM8700/U1";

TEST(Ibnetdiscover, ReadsNodes) {
  const model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  EXPECT_EQ(fabric.kind, model::FabricKind::kInfiniBand);
  EXPECT_EQ(fabric.origin, "ibnetdiscover whole.txt");
  EXPECT_EQ(fabric.captured, "2026-11-30T09:15:02Z");
  ASSERT_EQ(fabric.seen_from.size(), 1U);
  EXPECT_EQ(fabric.seen_from[0], "gpu-a mlx5_0 port 1");
  ASSERT_EQ(fabric.nodes.size(), 5U);
  const model::FabricNode& leaf = node_named(fabric, kLeaf);
  EXPECT_EQ(leaf.kind, FabricNodeKind::kSwitch);
  EXPECT_EQ(leaf.guid.value, 0xb8cef60300b00010U);
  EXPECT_EQ(leaf.system_guid, 0xb8cef60300b00010U);
  EXPECT_EQ(leaf.vendor, 0x2c9U);
  EXPECT_EQ(leaf.device, 0xd2f0U);
  EXPECT_EQ(leaf.stated_ports, 41U);
  EXPECT_EQ(node_named(fabric, "border").kind, FabricNodeKind::kRouter);
  EXPECT_EQ(node_named(fabric, "gpu-a mlx5_0").kind, FabricNodeKind::kAdapter);
}

TEST(Ibnetdiscover, ReadsPortsAndCables) {
  const model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  EXPECT_EQ(cables(fabric), 4U);
  EXPECT_EQ(peer_of(fabric, kLeaf, 20), "MF0;spine-1:MQM8700/U1 port 1");
  EXPECT_EQ(peer_of(fabric, "gpu-b mlx5_0", 1), "MF0;leaf-1:MQM8700/U1 port 2");
  EXPECT_EQ(port_of(fabric, kLeaf, 1).speed, LaneSpeedName::kHdr);
  EXPECT_EQ(port_of(fabric, kLeaf, 1).lanes, 4U);
  EXPECT_EQ(port_of(fabric, kLeaf, 2).speed, LaneSpeedName::kFdr10);
  EXPECT_EQ(port_of(fabric, kLeaf, 1).physical_state, model::PortPhysicalState::kLinkUp);
  EXPECT_EQ(port_of(fabric, kLeaf, 1).state, model::PortState::kUnknown);
  EXPECT_EQ(port_of(fabric, kLeaf, 0).lid, Lid{11});
  EXPECT_EQ(port_of(fabric, "gpu-b mlx5_0", 1).lid, Lid{22});
  EXPECT_EQ(port_of(fabric, "border", 1).guid, 0xb8cef60300c00002U);
}

TEST(Ibnetdiscover, SpeedsThatTheToolDidNotKnowAreUnknown) {
  const model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  EXPECT_EQ(port_of(fabric, kSpine, 7).lanes, 12U);
  EXPECT_EQ(port_of(fabric, kSpine, 7).speed, LaneSpeedName::kUnknown);
  EXPECT_EQ(note_count(fabric, "fabric.unknown-speed"), 2U);
  EXPECT_EQ(note_count(fabric, "fabric.no-time-zone"), 1U);
  EXPECT_EQ(fabric.notes.size(), 2U);
}

TEST(Ibnetdiscover, TheExtendedSpeedOfFullHelpsOut) {
  const auto line =
      parse_port_line("[1]\t\"S-b8cef60300b00010\"[2]\t\t# \"leaf\" lid 3 4x??? s=0 w=2 v=4 e=8");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->rate.speed, LaneSpeedName::kNdr);
  EXPECT_FALSE(line->has_unknown_speed);
}

TEST(Ibnetdiscover, KnowsAllGenerations) {
  for (const char* word : {"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"}) {
    const auto rate = parse_rate_word(fmt::format("4x{}", word));
    ASSERT_TRUE(rate.has_value()) << word;
    EXPECT_EQ(model::name_of(rate->speed), word);
    EXPECT_EQ(rate->lanes, 4U);
  }
  EXPECT_EQ(parse_rate_word("12xQDR")->lanes, 12U);
  EXPECT_EQ(parse_rate_word("?????")->lanes, 0U);
  EXPECT_FALSE(parse_rate_word("4711").has_value());
  EXPECT_FALSE(parse_rate_word("4xHDRR").has_value());
}

TEST(Ibnetdiscover, ReadsTheForm2007) {
  const auto port = parse_port_line(
      "[1](8f10400000981)     \"S-0008f10400410099\"[6]         # lid 16 lmc 1 \"SW-6 \"A\" Voltaire\" lid 3 "
      "4xSDR");
  ASSERT_TRUE(port.has_value());
  EXPECT_EQ(port->guid, 0x8f10400000981U);
  EXPECT_EQ(port->lid, Lid{16});
  EXPECT_EQ(port->other_lid, Lid{3});
  EXPECT_EQ(port->other_number, 6U);
  EXPECT_EQ(port->other_description, "SW-6 \"A\" Voltaire");
}

TEST(Ibnetdiscover, ReadsLabelsOfChassis) {
  const auto port =
      parse_port_line("[1][ext 5]\t\"H-0008f10400410099\"[2][ext 7](8f10400410099) \t\t# \"a\" lid 9 4xDDR");
  ASSERT_TRUE(port.has_value());
  EXPECT_EQ(port->number, 1U);
  EXPECT_EQ(port->other_number, 2U);
  EXPECT_EQ(port->other_guid, 0x8f10400410099U);
}

TEST(Ibnetdiscover, WhatIsCutOffIsMissingAndNothingElse) {
  const model::Fabric fabric = import_fabric_sample("ibnetdiscover/truncated.txt");
  EXPECT_EQ(fabric.nodes.size(), 4U);
  EXPECT_EQ(cables(fabric), 3U);
  EXPECT_EQ(peer_of(fabric, kLeaf, 2), "gpu-b mlx5_0 port 1");
  EXPECT_EQ(node_named(fabric, "gpu-b mlx5_0").kind, FabricNodeKind::kAdapter);
  EXPECT_EQ(note_count(fabric, "fabric.text-cut"), 1U);
  EXPECT_EQ(note_count(import_fabric_sample("ibnetdiscover/whole.txt"), "fabric.text-cut"), 0U);
}

TEST(Ibnetdiscover, ReadsWhatIsReadableOfABrokenText) {
  const model::Fabric fabric = import_fabric_sample("ibnetdiscover/broken.txt");
  EXPECT_EQ(peer_of(fabric, "leaf-1 B\xC3\xBCro", 1), "gpu-a mlx5_0 port 1");
  EXPECT_EQ(peer_of(fabric, "leaf-1 B\xC3\xBCro", 2), "gpu-b mlx5_0 port 1");
  EXPECT_EQ(cables(fabric), 2U);
  EXPECT_EQ(note_count(fabric, "fabric.port-without-node"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.port-out-of-range"), 1U);
  EXPECT_EQ(fabric.nodes.size(), 3U) << "a damaged line names nobody";
  EXPECT_EQ(note_count(fabric, "fabric.ends-contradict"), 1U);
  EXPECT_EQ(note_text(fabric, "fabric.ends-contradict").substr(0, 13), "broken.txt:18");
  EXPECT_EQ(note_count(fabric, "fabric.unknown-line"), 5U);
}

TEST(Ibnetdiscover, APortListGivesTheSameCables) {
  const model::Fabric fabric = import_fabric_sample("ibnetdiscover/ports.txt");
  EXPECT_EQ(fabric.nodes.size(), 3U);
  EXPECT_EQ(cables(fabric), 3U);
  EXPECT_EQ(peer_of(fabric, kLeaf, 4), "old-a mlx4_0 port 2");
  EXPECT_EQ(node_named(fabric, "old-a mlx4_0").ports.size(), 2U);
  EXPECT_EQ(node_named(fabric, "old-a mlx4_0").kind, FabricNodeKind::kAdapter);
  EXPECT_EQ(port_of(fabric, kLeaf, 1).speed, LaneSpeedName::kHdr);
  EXPECT_EQ(port_of(fabric, kLeaf, 9).speed, LaneSpeedName::kUnknown) << "a port that is down says anything";
  EXPECT_EQ(port_of(fabric, kLeaf, 0).lid, Lid{11});
  EXPECT_EQ(note_count(fabric, "fabric.port-guids-only"), 1U);
}

TEST(Ibnetdiscover, ANetFileOfIbsimGetsItsGuids) {
  const model::Fabric fabric = import_fabric_sample("ibnetdiscover/net.txt");
  EXPECT_EQ(node_named(fabric, "Left").guid.value, 0x200000U);
  EXPECT_EQ(node_named(fabric, "Right").guid.value, 0x200001U);
  EXPECT_EQ(node_named(fabric, "Alpha").guid.value, 0x100000U);
  EXPECT_EQ(node_named(fabric, "Beta").guid.value, 0x100003U);
  EXPECT_EQ(peer_of(fabric, "Beta", 1), "Right port 1")
      << "the port of the other end is 1 when it is not named";
  EXPECT_EQ(cables(fabric), 3U);
  EXPECT_EQ(note_count(fabric, "fabric.made-up-guids"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.ibsim-command"), 1U);
}

TEST(Ibnetdiscover, TheSameBlockTwiceIsOneNode) {
  const std::string once = test::fabric_sample("ibnetdiscover/whole.txt");
  const model::Fabric fabric = import_fabric_text(once + once);
  EXPECT_EQ(fabric.nodes.size(), 5U);
  EXPECT_EQ(cables(fabric), 4U);
  EXPECT_EQ(note_count(fabric, "fabric.repeated-node"), 5U);
}

TEST(Ibnetdiscover, TwoNamesForOneGuidAreTold) {
  const model::Fabric fabric = import_fabric_text(
      "Ca\t1 \"H-b8cef60300a00001\"\t\t# \"gpu-a mlx5_0\"\n\nCa\t1 \"H-b8cef60300a00001\"\t\t# \"gpu-b "
      "mlx5_0\"\n");
  EXPECT_EQ(fabric.nodes.size(), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.duplicate-guid"), 1U);
}

TEST(Ibnetdiscover, AnEmptyTextIsRefused) {
  EXPECT_EQ(test::refusal(""), "text: the file is empty");
  EXPECT_EQ(test::refusal("#\n# Topology file: generated on Mon Nov 30 09:15:02 2026\n"),
            "text: not a text that describes a fabric: it looks like ibnetdiscover that ended after its "
            "first lines");
}

TEST(Ibnetdiscover, HostileNumbersAreBounded) {
  std::string text = "Switch\t4000000000 \"S-b8cef60300b00010\"\t\t# \"leaf\" base port 0 lid 70000 lmc 0\n";
  for (int i = 0; i < 300; ++i)
    text += fmt::format("[{}]\t\"H-{:016x}\"[1](1) \t\t# \"gpu\" lid 1 4xHDR\n", i, i + 1);
  const model::Fabric fabric = import_fabric_text(text);
  EXPECT_EQ(node_named(fabric, "leaf").stated_ports, 0U);
  EXPECT_EQ(node_named(fabric, "leaf").ports.size(), 255U);
  EXPECT_FALSE(port_of(fabric, "leaf", 0).lid.has_value());
}

}  // namespace
}  // namespace angio::import::fabric
