#include <gtest/gtest.h>

#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

using model::FabricReport;
using model::FabricShape;
using model::Severity;

constexpr const char* kRail = "fabric.rail.misaligned";
constexpr const char* kLevel = "fabric.level.oversubscribed";
constexpr const char* kPoint = "fabric.topology.single-point";
constexpr const char* kMissing = "fabric.link.missing";

void swap_cables(Builder& build, const std::string& a, const std::string& b) {
  const PortRef at_a = *build.port(a, 1).peer;
  const PortRef at_b = *build.port(b, 1).peer;
  const auto number = [&](PortRef ref) { return build.port(ref).number; };
  build.unplug(build.node(a), 1);
  build.unplug(build.node(b), 1);
  build.plug(at_b.node, number(at_b), build.node(a), 1);
  build.plug(at_a.node, number(at_a), build.node(b), 1);
}

TEST(FabricRailMisaligned, FiresOnceForTwoCablesOnEachOthersRail) {
  Builder build = rail_tree();
  swap_cables(build, "gpu-6 mlx5_1", "gpu-6 mlx5_2");
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kRail), 1U) << list(report);
  const auto& found = *find(report, kRail);
  EXPECT_EQ(found.finding.title, "gpu-6 mlx5_1 and gpu-6 mlx5_2 are on each other's rail");
  EXPECT_EQ(found.finding.node, "gpu-6");
  EXPECT_TRUE(
      has_evidence(found, "gpu-6 mlx5_1 is on pod2-rail2 (rail 2); it should be on pod2-rail1 (rail 1)"));
  EXPECT_EQ(found.nodes.size(), 2U);
  ASSERT_EQ(report.facts.rails.size(), 4U);
  EXPECT_EQ(report.facts.rails[1].adapters.size(), 7U);
  EXPECT_EQ(report.facts.shape, FabricShape::kRailFatTree) << report.facts.shape_why;
  EXPECT_EQ(alarms(report), 1U) << list(report);
}

TEST(FabricRailMisaligned, FiresForOneAdapter) {
  Builder build = rail_tree({.hosts = 6});
  build.unplug(build.node("gpu-2 mlx5_3"), 1);
  build.unplug(build.node("gpu-3 mlx5_0"), 1);
  build.plug(build.node("pod1-rail0"), 3, build.node("gpu-2 mlx5_3"), 1);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kRail), 1U) << list(report);
  EXPECT_EQ(find(report, kRail)->finding.title, "gpu-2 mlx5_3 is on rail 0, it should be on rail 3");
}

TEST(FabricRailMisaligned, SilentOnHealthyRailsOfOneAndSeveralPods) {
  for (const std::uint32_t pods : {1U, 2U, 4U}) {
    const FabricReport report = analyse(rail_tree({.pods = pods}).fabric);
    EXPECT_TRUE(held(report, kRail)) << list(report);
    EXPECT_EQ(report.facts.rails.size(), 4U);
    EXPECT_EQ(report.facts.rails.front().leaves.size(), pods);
    EXPECT_EQ(report.findings.size(), 0U) << list(report);
  }
}

// Two ways of naming adapters are one set of rails, and a manager's adapters are nobody's siblings.
TEST(FabricRailMisaligned, SilentForOtherNamesInAPodAndForManagers) {
  Builder build = rail_tree({.pods = 2, .hosts = 5});
  for (std::uint32_t h = 6; h <= 10; ++h)
    for (std::uint32_t r = 0; r < 4; ++r)
      build.fabric.nodes[build.node(fmt::format("gpu-{} mlx5_{}", h, r))].description =
          fmt::format("gpu-{} HCA-{}", h, r + 1);
  build.unplug(build.node("gpu-9 HCA-3"), 1);
  build.unplug(build.node("gpu-9 HCA-4"), 1);
  build.plug(build.node("pod2-rail2"), 4, build.add_adapter("ufm mlx5_0"), 1);
  build.plug(build.node("pod2-rail3"), 4, build.add_adapter("ufm mlx5_1"), 1);
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(count(report, kRail), 0U) << list(report);
  ASSERT_EQ(report.facts.rails.size(), 4U);
  EXPECT_EQ(report.facts.rails[0].leaves.size(), 2U);
}

TEST(FabricRailMisaligned, UndecidedWithoutNamesOfDevices) {
  Builder build = rail_tree();
  for (auto& node : build.fabric.nodes)
    if (node.kind == FabricNodeKind::kAdapter)
      node.description = node.description.substr(0, node.description.find(' '));
  EXPECT_EQ(gap(analyse(build.fabric), kRail),
            "which adapter of a host is which: no node description names a device");
}

TEST(FabricLevelOversubscribed, FiresAsRemarkAndAsWarningBesideAPlan) {
  const Builder lean = fat_tree({.hosts = 8, .spines = 2, .cables = 2});
  const FabricReport report = analyse(lean.fabric);
  ASSERT_EQ(count(report, kLevel), 1U) << list(report);
  EXPECT_EQ(find(report, kLevel)->finding.title, "Level 1 takes in 2.00 times what it can pass on");
  EXPECT_EQ(find(report, kLevel)->finding.severity, Severity::kInfo);
  EXPECT_TRUE(has_evidence(*find(report, kLevel),
                           "4 switches: 32 cables down with 6.4 Tb/s, 16 cables up with 3.2 Tb/s"));
  const Builder plan = fat_tree();
  const FabricReport beside = analyse(lean.fabric, {.expected = &plan.fabric});
  EXPECT_EQ(find(beside, kLevel)->finding.severity, Severity::kWarning);
}

TEST(FabricLevelOversubscribed, SilentWhereUpEqualsDown) {
  EXPECT_TRUE(held(analyse(fat_tree().fabric), kLevel));
}

TEST(FabricLevelOversubscribed, SilentForOneCableThatIsMissingOrSlow) {
  Builder build = fat_tree({.hosts = 4, .spines = 2, .cables = 2});
  build.unplug(build.node("leaf-3"), 5);
  EXPECT_TRUE(held(analyse(build.fabric), kLevel));
  build = fat_tree({.hosts = 4, .spines = 2, .cables = 2});
  build.set_rate(build.node("leaf-3"), 5, 1, LaneSpeedName::kHdr);
  EXPECT_TRUE(held(analyse(build.fabric), kLevel));
}

TEST(FabricLevelOversubscribed, UndecidedWithoutRates) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    for (FabricPort& port : node.ports)
      port.lanes = 0;
  EXPECT_EQ(gap(analyse(build.fabric), kLevel), "the rates of the cables between switches");
}

TEST(FabricTopologySinglePoint, FiresForTheOnlySpineAndForTheOnlyCable) {
  const FabricReport spine = analyse(fat_tree({.spines = 1}).fabric);
  ASSERT_EQ(count(spine, kPoint), 1U) << list(spine);
  EXPECT_EQ(find(spine, kPoint)->finding.title,
            "spine-1 is the only way: without it 24 hosts lose the others");
  EXPECT_EQ(find(spine, kPoint)->finding.severity, Severity::kInfo);
  const FabricReport cable = analyse(fat_tree({.leaves = 2, .spines = 1, .cables = 1}).fabric);
  EXPECT_EQ(count(cable, kPoint), 3U) << list(cable);
}

TEST(FabricTopologySinglePoint, SilentForLeavesWithTheirOwnHosts) {
  EXPECT_TRUE(held(analyse(fat_tree().fabric), kPoint));
  EXPECT_TRUE(held(analyse(rail_tree({.pods = 1}).fabric), kPoint)) << "one leaf a rail";
}

// no undecided: the cables are the scan; a fabric with one switch has nothing to cut
TEST(FabricTopologySinglePoint, UndecidedNeverOneSwitchIsNotLookedAt) {
  Builder build;
  build.plug(build.add_switch("leaf", 4), 1, build.add_adapter("a mlx5_0"), 1);
  const FabricReport report = analyse(build.fabric);
  EXPECT_FALSE(held(report, kPoint));
  EXPECT_EQ(count(report, kPoint), 0U);
}

TEST(FabricLinkMissing, FiresAndNamesTheOtherSide) {
  Builder build = fat_tree();
  build.unplug(build.node("leaf-3"), 10);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kMissing), 1U) << list(report);
  EXPECT_EQ(find(report, kMissing)->finding.title, "leaf-3 has 7 cables up, 3 of 4 switches like it have 8");
  EXPECT_TRUE(has_evidence(*find(report, kMissing), "fewer than its siblings to spine-1 (3 of 4)"));
  EXPECT_EQ(find(report, kMissing)->hosts.size(), 8U);
  EXPECT_EQ(alarms(report), 1U) << list(report);
}

TEST(FabricLinkMissing, SilentForALeafThatWasBuiltSmaller) {
  Builder build = fat_tree({.leaves = 5});
  for (std::uint32_t h = 1; h <= 4; ++h)
    build.unplug(build.node("leaf-5"), h);
  for (const std::uint32_t port : {9U, 10U, 13U, 14U})
    build.unplug(build.node("leaf-5"), port);
  EXPECT_TRUE(held(analyse(build.fabric), kMissing)) << list(analyse(build.fabric));
}

// no undecided: what is not cabled is what the rule looks for; too few switches are not looked at
TEST(FabricLinkMissing, UndecidedNeverThreeLeavesAreTooFew) {
  Builder build = fat_tree({.leaves = 3});
  build.unplug(build.node("leaf-3"), 10);
  const FabricReport report = analyse(build.fabric);
  EXPECT_FALSE(held(report, kMissing));
  EXPECT_EQ(count(report, kMissing), 0U);
}

}  // namespace
}  // namespace angio::fabric::test
