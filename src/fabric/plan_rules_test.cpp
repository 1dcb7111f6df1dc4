#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

using model::FabricReport;

constexpr const char* kNode = "fabric.plan.node-missing";
constexpr const char* kLink = "fabric.plan.link-missing";
constexpr const char* kElsewhere = "fabric.plan.cable-elsewhere";
constexpr const char* kSlower = "fabric.plan.slower";

// Leaves a node out of a fabric, as a scan does that cannot reach it.
Fabric without(Builder build, const std::vector<std::string>& names) {
  std::vector<std::uint32_t> index(build.fabric.nodes.size());
  Fabric rest = build.fabric;
  rest.nodes.clear();
  for (std::uint32_t n = 0; n < build.fabric.nodes.size(); ++n) {
    const bool gone = std::ranges::find(names, build.fabric.nodes[n].description) != names.end();
    index[n] = gone ? 0xffffffffU : static_cast<std::uint32_t>(rest.nodes.size());
    if (!gone) rest.nodes.push_back(build.fabric.nodes[n]);
  }
  for (auto& node : rest.nodes)
    for (FabricPort& port : node.ports) {
      if (!port.peer) continue;
      port.peer->node = index[port.peer->node];
      if (port.peer->node != 0xffffffffU) continue;
      port.peer.reset();
      port.state = PortState::kDown;
    }
  return rest;
}

FabricReport beside(const Fabric& now, const Fabric& plan) {
  return analyse(now, {.expected = &plan});
}

TEST(FabricPlanNodeMissing, FiresOnceForAHostAndOnceForALeafWithItsHosts) {
  const Builder plan = rail_tree();
  const Fabric no_host = without(plan, {"gpu-6 mlx5_0", "gpu-6 mlx5_1", "gpu-6 mlx5_2", "gpu-6 mlx5_3"});
  const FabricReport host = beside(no_host, plan.fabric);
  ASSERT_EQ(count(host, kNode), 1U) << list(host);
  EXPECT_EQ(find(host, kNode)->finding.title, "gpu-6 is not there, with 4 adapters");
  EXPECT_TRUE(has_evidence(*find(host, kNode), "pod2-rail0 port 2 to gpu-6 mlx5_0 port 1"));
  EXPECT_EQ(count(host, kLink), 0U);

  const Builder tree = fat_tree();
  std::vector<std::string> names = {"leaf-2"};
  for (int h = 9; h <= 16; ++h)
    names.push_back(fmt::format("gpu-{} mlx5_0", h));
  const FabricReport leaf = beside(without(tree, names), tree.fabric);
  ASSERT_EQ(count(leaf, kNode), 1U) << list(leaf);
  EXPECT_EQ(find(leaf, kNode)->finding.title, "leaf-2 is not there, and with it 8 adapters that hung off it");
}

TEST(FabricPlanNodeMissing, FiresByNameForAPlanThatWasWrittenByHand) {
  Builder plan = fat_tree();
  for (auto& node : plan.fabric.nodes)
    node.guid.value += 0x7000000000;
  const FabricReport report = beside(without(fat_tree(), {"gpu-4 mlx5_0"}), plan.fabric);
  ASSERT_EQ(count(report, kNode), 1U) << list(report);
  EXPECT_EQ(find(report, kNode)->finding.title, "gpu-4 is not there, with 1 adapter");
}

TEST(FabricPlanNodeMissing, UndecidedForAScanThatWasStopped) {
  Fabric part = without(fat_tree(), {"leaf-2", "spine-2"});
  part.notes.push_back({"scan.stopped", "the scan was stopped; it is not whole", 1, ""});
  const FabricReport report = beside(part, fat_tree().fabric);
  EXPECT_EQ(gap(report, kNode), "which nodes are missing: the scan was stopped; it is not whole");
  EXPECT_EQ(gap(report, kLink), "which cables are missing: the scan was stopped; it is not whole");
  EXPECT_EQ(count(report, kNode) + count(report, kLink), 0U) << list(report);
}

TEST(FabricPlanNodeMissing, SilentWhereAllIsThere) {
  const Builder plan = rail_tree();
  const FabricReport report = beside(plan.fabric, plan.fabric);
  EXPECT_TRUE(held(report, kNode));
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
}

TEST(FabricPlanNodeMissing, UndecidedForAPlanWithoutNodes) {
  EXPECT_EQ(gap(beside(fat_tree().fabric, {}), kNode), "what is expected: the plan has no nodes");
}

TEST(FabricPlanLinkMissing, Fires) {
  Builder now = fat_tree();
  now.unplug(now.node("leaf-1"), 12);
  const FabricReport report = beside(now.fabric, fat_tree().fabric);
  ASSERT_EQ(count(report, kLink), 1U) << list(report);
  EXPECT_EQ(find(report, kLink)->finding.title, "The cable leaf-1 port 12 to spine-1 port 4 is not there");
  EXPECT_EQ(find(report, kLink)->ports.size(), 2U);
}

TEST(FabricPlanLinkMissing, FiresWherePortsWithoutALinkAreNotListed) {
  Builder now = fat_tree();
  now.unplug(now.node("leaf-1"), 16);
  auto& ports = now.fabric.nodes[now.node("leaf-1")].ports;
  std::erase_if(ports, [](const FabricPort& port) { return port.number >= 16; });
  const FabricReport report = beside(now.fabric, fat_tree().fabric);
  ASSERT_EQ(count(report, kLink), 1U) << list(report);
  EXPECT_EQ(find(report, kLink)->finding.title, "The cable leaf-1 port 16 to spine-2 port 4 is not there");
  EXPECT_TRUE(has_evidence(*find(report, kLink), "leaf-1 port 16 is not listed"));
  EXPECT_EQ(find(report, kLink)->hosts.size(), 8U);
}

TEST(FabricPlanNodeMissing, SilentForASwitchThatWasReplaced) {
  Builder now = fat_tree();
  now.fabric.nodes[now.node("leaf-2")].guid.value += 1;
  const FabricReport report = beside(now.fabric, fat_tree().fabric);
  EXPECT_TRUE(held(report, kNode)) << list(report);
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
}

TEST(FabricPlanLinkMissing, SilentForACableThatMoved) {
  Builder now = fat_tree();
  now.unplug(now.node("leaf-1"), 8);
  now.plug(now.node("leaf-1"), 17, now.node("gpu-8 mlx5_0"), 1);
  EXPECT_TRUE(held(beside(now.fabric, fat_tree().fabric), kLink));
}

TEST(FabricPlanLinkMissing, UndecidedForAPlanWithoutCables) {
  Builder plan;
  plan.add_switch("leaf-1", 4);
  EXPECT_EQ(gap(beside(fat_tree().fabric, plan.fabric), kLink), "what is expected: the plan has no cables");
}

TEST(FabricPlanCableElsewhere, FiresForAMoveAndOnceForASwap) {
  Builder moved = fat_tree();
  moved.unplug(moved.node("leaf-1"), 8);
  moved.plug(moved.node("leaf-1"), 17, moved.node("gpu-8 mlx5_0"), 1);
  const FabricReport one = beside(moved.fabric, fat_tree().fabric);
  ASSERT_EQ(count(one, kElsewhere), 1U) << list(one);
  EXPECT_EQ(find(one, kElsewhere)->finding.title,
            "A cable is elsewhere than expected: leaf-1 port 17 to gpu-8 mlx5_0 port 1");
  EXPECT_TRUE(has_evidence(*find(one, kElsewhere), "leaf-1 port 8 to gpu-8 mlx5_0 port 1"));

  Builder swapped = fat_tree();
  swapped.unplug(swapped.node("leaf-1"), 1);
  swapped.unplug(swapped.node("leaf-2"), 1);
  swapped.plug(swapped.node("leaf-1"), 1, swapped.node("gpu-9 mlx5_0"), 1);
  swapped.plug(swapped.node("leaf-2"), 1, swapped.node("gpu-1 mlx5_0"), 1);
  const FabricReport two = beside(swapped.fabric, fat_tree().fabric);
  ASSERT_EQ(count(two, kElsewhere), 1U) << list(two);
  EXPECT_EQ(find(two, kElsewhere)->finding.title,
            "Two cables are swapped: leaf-1 port 1 to gpu-9 mlx5_0 port 1 and leaf-2 port 1 to gpu-1 mlx5_0 "
            "port 1");
  EXPECT_EQ(find(two, kElsewhere)->hosts.size(), 2U);
}

TEST(FabricPlanCableElsewhere, SilentForNewCables) {
  Builder now = fat_tree();
  now.plug(now.node("leaf-1"), 17, now.add_adapter("gpu-33 mlx5_0"), 1);
  EXPECT_TRUE(held(beside(now.fabric, fat_tree().fabric), kElsewhere));
}

TEST(FabricPlanCableElsewhere, UndecidedForAPlanWithoutCables) {
  Builder plan;
  plan.add_switch("leaf-1", 4);
  EXPECT_EQ(gap(beside(fat_tree().fabric, plan.fabric), kElsewhere),
            "what is expected: the plan has no cables");
}

TEST(FabricPlanSlower, FiresWhereNoOtherRuleTellsIt) {
  Builder now = fat_tree();
  now.set_rate(now.node("leaf-1"), 2, 4, LaneSpeedName::kEdr);
  now.forget_support();
  const FabricReport report = beside(now.fabric, fat_tree().fabric);
  ASSERT_EQ(count(report, kSlower), 1U) << list(report);
  EXPECT_EQ(find(report, kSlower)->finding.title,
            "leaf-1 port 2 to gpu-2 mlx5_0 port 1 runs 100 Gb/s, expected 200 Gb/s");
}

TEST(FabricPlanSlower, TakesThePlaceOfTheRuleThatLooksAtPeers) {
  Builder now = fat_tree();
  now.set_rate(now.node("leaf-1"), 10, 4, LaneSpeedName::kEdr);
  now.forget_support();
  EXPECT_EQ(count(analyse(now.fabric), "fabric.link.below-peers"), 1U);
  const FabricReport report = beside(now.fabric, fat_tree().fabric);
  EXPECT_EQ(count(report, "fabric.link.below-peers"), 0U) << list(report);
  EXPECT_EQ(count(report, kSlower), 1U) << list(report);
}

TEST(FabricPlanSlower, SilentWhereTheLinkRuleTellsIt) {
  Builder now = fat_tree();
  now.set_rate(now.node("leaf-1"), 2, 4, LaneSpeedName::kEdr);
  const FabricReport report = beside(now.fabric, fat_tree().fabric);
  EXPECT_TRUE(held(report, kSlower)) << list(report);
  EXPECT_EQ(count(report, "fabric.link.speed-reduced"), 1U);
}

TEST(FabricPlanSlower, UndecidedForAPlanWithoutRates) {
  Builder plan = fat_tree();
  for (auto& node : plan.fabric.nodes)
    for (FabricPort& port : node.ports)
      port.lanes = 0;
  EXPECT_EQ(gap(beside(fat_tree().fabric, plan.fabric), kSlower), "rates of cables, in the plan and now");
}

}  // namespace
}  // namespace angio::fabric::test
