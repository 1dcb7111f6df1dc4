#include "import/fabric/ibqueryerrors.hpp"

#include <gtest/gtest.h>

#include "support/fabric_samples.hpp"

namespace angio::import::fabric {
namespace {

using model::FabricCounter;
using test::cables;
using test::import_fabric_sample;
using test::node_named;
using test::note_count;
using test::peer_of;
using test::port_of;

constexpr std::string_view kLeaf = "MF0;leaf-1:MQM8700/U1";

TEST(Ibqueryerrors, ReadsCounters) {
  const model::Fabric fabric = import_fabric_sample("ibqueryerrors/whole.txt");
  ASSERT_EQ(fabric.nodes.size(), 3U);
  const model::CounterSet& counters = port_of(fabric, kLeaf, 1).counters;
  EXPECT_EQ(counters.get(FabricCounter::kSymbolErrors), 65535U);
  EXPECT_TRUE(counters.is_stuck(FabricCounter::kSymbolErrors));
  EXPECT_EQ(counters.get(FabricCounter::kLinkDowned), 2U);
  EXPECT_FALSE(counters.is_stuck(FabricCounter::kLinkDowned));
  EXPECT_EQ(counters.get(FabricCounter::kTransmitBytes), 4000U) << "the wire counts words of 4 bytes";
  EXPECT_EQ(counters.get(FabricCounter::kReceiveErrors), std::nullopt) << "below its threshold is not zero";
  EXPECT_TRUE(port_of(fabric, "old-a mlx4_0", 1).counters.is_stuck(FabricCounter::kTransmitWait));
}

TEST(Ibqueryerrors, TheSumOfAllPortsIsLeftOut) {
  const model::Fabric fabric = import_fabric_sample("ibqueryerrors/whole.txt");
  std::uint64_t downed = 0;
  for (const model::FabricPort& port : node_named(fabric, kLeaf).ports)
    downed += port.counters.get(FabricCounter::kLinkDowned).value_or(0);
  EXPECT_EQ(downed, 9U);
}

TEST(Ibqueryerrors, PortsOfOneAdapterAreOneNode) {
  const model::Fabric fabric = import_fabric_sample("ibqueryerrors/whole.txt");
  EXPECT_EQ(node_named(fabric, "old-a mlx4_0").ports.size(), 2U);
  EXPECT_EQ(node_named(fabric, "old-a mlx4_0").kind, model::FabricNodeKind::kAdapter);
  EXPECT_EQ(node_named(fabric, kLeaf).kind, model::FabricNodeKind::kSwitch);
}

TEST(Ibqueryerrors, LinkInformationJoinsCables) {
  const model::Fabric fabric = import_fabric_sample("ibqueryerrors/whole.txt");
  EXPECT_EQ(cables(fabric), 1U);
  EXPECT_EQ(peer_of(fabric, kLeaf, 1), "gpu-a mlx5_0 port 1");
  EXPECT_EQ(port_of(fabric, kLeaf, 3).state, model::PortState::kDown);
  EXPECT_EQ(note_count(fabric, "fabric.unanswered-counters"), 1U);
}

TEST(Ibqueryerrors, NothingAboveTheThresholdsIsSaid) {
  EXPECT_EQ(test::refusal(test::fabric_sample("ibqueryerrors/clean.txt")),
            "text: nothing could be read as ibqueryerrors: expected a port with errors");
}

TEST(Ibqueryerrors, ACleanTextAddsNothing) {
  model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  const std::size_t notes = fabric.notes.size();
  EXPECT_TRUE(add_to_fabric(fabric, test::fabric_sample("ibqueryerrors/clean.txt"), "clean.txt").has_value());
  EXPECT_EQ(fabric.notes.size(), notes);
  EXPECT_EQ(cables(fabric), 4U);
}

TEST(Ibqueryerrors, WhatIsCutOffIsCounted) {
  const model::Fabric fabric = import_fabric_sample("ibqueryerrors/truncated.txt");
  EXPECT_EQ(port_of(fabric, kLeaf, 1).counters.get(FabricCounter::kSymbolErrors), 65535U);
  EXPECT_EQ(port_of(fabric, kLeaf, 1).counters.get(FabricCounter::kLinkDowned), std::nullopt);
  EXPECT_EQ(note_count(fabric, "fabric.cut-line"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.no-cables"), 1U);
}

TEST(Ibqueryerrors, ReadsWhatIsReadableOfABrokenText) {
  const model::Fabric fabric = import_fabric_sample("ibqueryerrors/broken.txt");
  const model::CounterSet& counters = port_of(fabric, "leaf-1", 1).counters;
  EXPECT_EQ(counters.get(FabricCounter::kSymbolErrors), 3U);
  EXPECT_EQ(counters.get(FabricCounter::kLinkErrorRecoveries), std::nullopt);
  EXPECT_EQ(counters.get(FabricCounter::kTransmitDiscards), 4U);
  EXPECT_EQ(note_count(fabric, "fabric.no-count"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.port-out-of-range"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.cut-line"), 1U);
}

TEST(Ibqueryerrors, DataCountersOnlyHaveTheGuidOfTheNode) {
  const model::Fabric fabric = test::import_fabric_text(
      "Data Counters for 0xb8cef60300a00001 \"gpu-a mlx5_0\"\n"
      "   GUID 0xb8cef60300a00001 port 1: [PortXmitData == 25 (100.000B)] [PortRcvPkts == 7 (7.000)]\n");
  EXPECT_EQ(port_of(fabric, "gpu-a mlx5_0", 1).counters.get(FabricCounter::kTransmitBytes), 100U);
  EXPECT_EQ(port_of(fabric, "gpu-a mlx5_0", 1).counters.get(FabricCounter::kReceivePackets), 7U);
  EXPECT_EQ(node_named(fabric, "gpu-a mlx5_0").kind, model::FabricNodeKind::kUnknown);
}

}  // namespace
}  // namespace angio::import::fabric
