#include "import/fabric/perfquery.hpp"

#include <gtest/gtest.h>

#include "support/fabric_samples.hpp"

namespace angio::import::fabric {
namespace {

using model::FabricCounter;
using test::import_fabric_sample;
using test::note_count;
using test::port_of;

TEST(Perfquery, ReadsExtendedCounters) {
  const model::Fabric fabric = import_fabric_sample("perfquery/whole.txt");
  const model::FabricPort& port = port_of(fabric, "LID 21", 1);
  EXPECT_EQ(port.lid, Lid{21});
  EXPECT_EQ(port.counters.get(FabricCounter::kTransmitBytes), 4000U);
  EXPECT_EQ(port.counters.get(FabricCounter::kTransmitWait), 0U);
  EXPECT_EQ(port.counters.get(FabricCounter::kSymbolErrors), 65535U);
  EXPECT_FALSE(port.counters.is_stuck(FabricCounter::kSymbolErrors)) << "64 bits go on";
  EXPECT_TRUE(port.counters.is_stuck(FabricCounter::kReceiveBytes));
}

TEST(Perfquery, CountersOf16BitsStopAtTheTop) {
  const model::Fabric fabric = import_fabric_sample("perfquery/whole.txt");
  const model::CounterSet& counters = port_of(fabric, "LID 11", 3).counters;
  EXPECT_TRUE(counters.is_stuck(FabricCounter::kSymbolErrors));
  EXPECT_FALSE(counters.is_stuck(FabricCounter::kLinkErrorRecoveries));
  EXPECT_TRUE(counters.is_stuck(FabricCounter::kLinkDowned));
  EXPECT_TRUE(counters.is_stuck(FabricCounter::kTransmitBytes));
  EXPECT_EQ(counters.get(FabricCounter::kTransmitBytes), 17179869180U);
}

TEST(Perfquery, WhatIsCutOffIsMissing) {
  const model::Fabric fabric = import_fabric_sample("perfquery/truncated.txt");
  EXPECT_EQ(port_of(fabric, "LID 21", 1).counters.get(FabricCounter::kLinkDowned), 2U);
  EXPECT_TRUE(port_of(fabric, "LID 11", 3).counters.empty());
}

TEST(Perfquery, SumsAndDetailsAreLeftOut) {
  const model::Fabric fabric = import_fabric_sample("perfquery/broken.txt");
  ASSERT_EQ(fabric.nodes.size(), 1U);
  EXPECT_EQ(port_of(fabric, "LID 11", 4).counters.get(FabricCounter::kSymbolErrors), 6U);
  EXPECT_EQ(port_of(fabric, "LID 11", 4).counters.get(FabricCounter::kLinkDowned), std::nullopt);
  EXPECT_EQ(note_count(fabric, "fabric.sum-left-out"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.details-left-out"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.no-lid"), 1U);
  EXPECT_EQ(note_count(fabric, "fabric.no-count"), 1U);
}

TEST(Perfquery, DetailsAloneAreRefused) {
  EXPECT_EQ(test::refusal(test::fabric_sample("perfquery/details.txt")),
            "text: nothing could be read as perfquery: expected the counters themselves, not their details");
}

TEST(Perfquery, IsLaidOverATopologyByLid) {
  model::Fabric fabric = import_fabric_sample("ibnetdiscover/whole.txt");
  ASSERT_TRUE(add_to_fabric(fabric, test::fabric_sample("perfquery/whole.txt"), "counters.txt").has_value());
  EXPECT_EQ(fabric.nodes.size(), 5U);
  EXPECT_EQ(port_of(fabric, "gpu-a mlx5_0", 1).counters.get(FabricCounter::kLinkDowned), 2U);
  EXPECT_EQ(port_of(fabric, "MF0;leaf-1:MQM8700/U1", 3).counters.get(FabricCounter::kLinkDowned), 255U);
  EXPECT_EQ(test::cables(fabric), 4U);
  EXPECT_EQ(test::peer_of(fabric, "MF0;leaf-1:MQM8700/U1", 20), "MF0;spine-1:MQM8700/U1 port 1");
}

}  // namespace
}  // namespace angio::import::fabric
