#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

using model::FabricReport;
using model::Severity;

constexpr const char* kGuid = "fabric.node.guid-duplicate";
constexpr const char* kShared = "fabric.node.name-shared";
constexpr const char* kUnnamed = "fabric.node.unnamed";
constexpr const char* kAnswer = "fabric.node.no-answer";
constexpr const char* kLidTwice = "fabric.lid.duplicate";
constexpr const char* kLidInvalid = "fabric.lid.invalid";

TEST(FabricNodeGuidDuplicate, Fires) {
  Builder build = fat_tree();
  build.fabric.nodes[build.node("gpu-3 mlx5_0")].guid = build.fabric.nodes[build.node("gpu-9 mlx5_0")].guid;
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kGuid), 1U) << list(report);
  EXPECT_EQ(find(report, kGuid)->finding.severity, Severity::kCritical);
  EXPECT_EQ(find(report, kGuid)->nodes.size(), 2U);
  EXPECT_TRUE(has_evidence(*find(report, kGuid), "on leaf-1 port 3"));
}

TEST(FabricNodeGuidDuplicate, SilentForNodesWithoutGuid) {
  Builder build = fat_tree();
  build.fabric.nodes[build.node("gpu-3 mlx5_0")].guid = {};
  build.fabric.nodes[build.node("gpu-4 mlx5_0")].guid = {};
  EXPECT_TRUE(held(analyse(build.fabric), kGuid));
}

TEST(FabricNodeGuidDuplicate, UndecidedWithoutAnyGuid) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    node.guid = {};
  EXPECT_EQ(gap(analyse(build.fabric), kGuid), "the GUIDs of the nodes");
}

TEST(FabricNodeNameShared, FiresAndKeepsTheHostsApart) {
  Builder build = fat_tree();
  build.fabric.nodes[build.node("gpu-3 mlx5_0")].description = "ubuntu mlx5_0";
  build.fabric.nodes[build.node("gpu-9 mlx5_0")].description = "ubuntu mlx5_0";
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kShared), 1U) << list(report);
  EXPECT_EQ(find(report, kShared)->finding.title,
            "2 adapters of different cards call themselves \"ubuntu mlx5_0\"");
  EXPECT_EQ(report.hosts.size(), 32U);
  EXPECT_EQ(alarms(report), 0U) << list(report);
}

TEST(FabricNodeNameShared, SilentForTwoAdaptersOfAHost) {
  const FabricReport report = analyse(rail_tree().fabric);
  EXPECT_TRUE(held(report, kShared));
  EXPECT_EQ(report.hosts.size(), 8U);
}

TEST(FabricNodeNameShared, UndecidedWhereNothingIsNamed) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    node.description.clear();
  EXPECT_EQ(gap(analyse(build.fabric), kShared), "names of the adapters: no node description names a host");
}

TEST(FabricNodeUnnamed, FiresOnceForAll) {
  Builder build = fat_tree();
  build.fabric.nodes[build.node("gpu-3 mlx5_0")].description = "localhost mlx5_0";
  build.fabric.nodes[build.node("gpu-9 mlx5_0")].description = "MT4123 ConnectX6   Mellanox Technologies";
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kUnnamed), 1U) << list(report);
  EXPECT_EQ(find(report, kUnnamed)->finding.title, "The node descriptions of 2 adapters do not name a host");
  EXPECT_EQ(find(report, kUnnamed)->finding.severity, Severity::kInfo);
}

TEST(FabricNodeUnnamed, SilentForAggregationNodesInsideSwitches) {
  Builder build = fat_tree();
  build.plug(build.node("leaf-1"), 18, build.add_adapter("Mellanox Technologies Aggregation Node"), 1);
  const FabricReport report = analyse(build.fabric);
  EXPECT_TRUE(held(report, kUnnamed)) << list(report);
  EXPECT_EQ(report.hosts.size(), 32U);
}

// no undecided: a description that is empty names nobody, and that is what the rule says
TEST(FabricNodeUnnamed, UndecidedNeverAFabricOfSwitchesIsNotLookedAt) {
  Builder build;
  build.plug(build.add_switch("a", 4), 1, build.add_switch("b", 4), 1);
  const FabricReport report = analyse(build.fabric);
  EXPECT_FALSE(held(report, kUnnamed));
  EXPECT_EQ(count(report, kUnnamed), 0U);
}

TEST(FabricNodeNoAnswer, FiresForNodesAndPorts) {
  Builder build = fat_tree();
  build.fabric.nodes[build.node("gpu-3 mlx5_0")].trouble = "no answer to NodeDescription in 3 tries";
  build.port("leaf-2", 4).trouble = "no answer to PortInfo in 3 tries";
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kAnswer), 2U) << list(report);
  EXPECT_EQ(report.facts.without_answer, 1U);
  EXPECT_NE(list(report).find("gpu-3 mlx5_0: no answer to NodeDescription in 3 tries"), std::string::npos)
      << list(report);
  EXPECT_TRUE(has_evidence(*find(report, kAnswer), "GUID 0x"));
}

TEST(FabricNodeNoAnswer, OfASilentNodeBehindAPortNoOtherHostIsTouched) {
  Builder build = fat_tree();
  build.unplug(build.node("leaf-2"), 4);
  build.port("leaf-2", 4).trouble = "the node behind it gives no answer to NodeInfo in 3 tries";
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kAnswer), 1U) << list(report);
  EXPECT_EQ(find(report, kAnswer)->finding.title,
            "leaf-2 port 4: the node behind it gives no answer to NodeInfo in 3 tries");
  EXPECT_EQ(find(report, kAnswer)->hosts.size(), 0U);
}

TEST(FabricNodeNoAnswer, SilentWhereAllAnswered) {
  EXPECT_TRUE(held(analyse(fat_tree().fabric), kAnswer));
}

// no undecided: what did not answer is the finding itself
TEST(FabricNodeNoAnswer, UndecidedNeverAnEmptyFabricHolds) {
  EXPECT_TRUE(held(analyse({}), kAnswer));
}

TEST(FabricLidDuplicate, FiresWithinAPlane) {
  Builder build = fat_tree();
  build.port("gpu-3 mlx5_0", 1).lid = build.port("gpu-9 mlx5_0", 1).lid;
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kLidTwice), 1U) << list(report);
  EXPECT_EQ(find(report, kLidTwice)->finding.severity, Severity::kCritical);
  EXPECT_EQ(find(report, kLidTwice)->ports.size(), 2U);
}

TEST(FabricLidDuplicate, SilentForTwoPlanesAndForASwitchThatPrintsItsLidAtEachPort) {
  Builder build = fat_tree();
  const std::uint32_t other = build.add_switch("other", 4);
  build.plug(other, 1, build.add_adapter("oss-1 mlx5_0"), 1);
  build.port("other", 0).lid = build.port("leaf-1", 0).lid;
  for (FabricPort& port : build.fabric.nodes[build.node("leaf-1")].ports)
    port.lid = build.port("leaf-1", 0).lid;
  EXPECT_TRUE(held(analyse(build.fabric), kLidTwice)) << list(analyse(build.fabric));
}

TEST(FabricLidDuplicate, UndecidedWithoutLids) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    for (FabricPort& port : node.ports)
      port.lid = Lid{0};
  EXPECT_EQ(gap(analyse(build.fabric), kLidTwice), "the LIDs of the ports");
}

TEST(FabricLidDuplicate, SilentForTheTwoPortsOfAnAdapterInTwoSubnets) {
  Builder build;
  const std::uint32_t a = build.add_switch("plane-a", 8);
  const std::uint32_t b = build.add_switch("plane-b", 8);
  for (std::uint32_t h = 1; h <= 4; ++h) {
    const std::uint32_t host = build.add_adapter(fmt::format("gpu-{} mlx5_0", h), 2);
    build.plug(a, h, host, 1);
    build.plug(b, h, host, 2);
    build.port(build.ref(host, 2)).lid = build.port(build.ref(host, 1)).lid;
  }
  build.port("plane-b", 0).lid = build.port("plane-a", 0).lid;
  EXPECT_TRUE(held(analyse(build.fabric), "fabric.lid.duplicate")) << list(analyse(build.fabric));
  build.plug(a, 8, b, 8);  // one subnet now
  EXPECT_EQ(count(analyse(build.fabric), "fabric.lid.duplicate"), 5U);
}

TEST(FabricLidInvalid, FiresForNoneAndForMulticast) {
  Builder build = fat_tree();
  build.port("gpu-3 mlx5_0", 1).lid = Lid{0};
  build.port("leaf-2", 0).lid = Lid{0xc000};
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(count(report, kLidInvalid), 2U) << list(report);
  EXPECT_EQ(find(report, kLidInvalid)->finding.severity, Severity::kWarning);
}

TEST(FabricLidInvalid, SilentForPortsThatAreDown) {
  Builder build = fat_tree();
  build.port(build.ref(build.add_adapter("spare mlx5_0"), 1)).lid = Lid{0};
  EXPECT_TRUE(held(analyse(build.fabric), kLidInvalid)) << list(analyse(build.fabric));
}

TEST(FabricLidInvalid, UndecidedForATextThatGivesNone) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    for (FabricPort& port : node.ports)
      port.lid = Lid{0};
  EXPECT_EQ(gap(analyse(build.fabric), kLidInvalid), "the LIDs of the ports");
}

}  // namespace
}  // namespace angio::fabric::test
