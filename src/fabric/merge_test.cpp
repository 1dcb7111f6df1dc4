#include <gtest/gtest.h>

#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

TEST(Merge, TheLaterCountersWin) {
  Builder early = fat_tree();
  early.port("leaf-1", 1).counters.set(FabricCounter::kSymbolErrors, 5);
  Builder late = fat_tree();
  late.fabric.captured = "2026-03-01T11:00:00Z";
  late.port("leaf-1", 1).counters.set(FabricCounter::kSymbolErrors, 9);
  const Fabric all = merge({late.fabric, early.fabric});
  ASSERT_EQ(all.nodes.size(), 38U);
  EXPECT_EQ(all.nodes[0].ports[1].counters.get(FabricCounter::kSymbolErrors), 9U);
  EXPECT_EQ(all.captured, "2026-03-01T11:00:00Z");
  const model::FabricReport report = analyse(all);
  EXPECT_EQ(report.facts.links, 64U);
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
}

TEST(Merge, PlanesBecomeOneFabric) {
  Builder one;
  one.plug(one.add_switch("sw-a", 4), 1, one.add_adapter("gpu-1 mlx5_0"), 1);
  Builder other;
  other.add_switch("unused", 1);
  other.add_switch("unused", 1);
  other.plug(other.add_switch("sw-b", 4), 1, other.add_adapter("gpu-1 mlx5_1"), 1);
  const Fabric all = merge({one.fabric, other.fabric});
  const model::FabricReport report = analyse(all);
  EXPECT_EQ(report.facts.links, 2U);
  ASSERT_EQ(report.hosts.size(), 1U);
  EXPECT_EQ(report.hosts[0].adapters.size(), 2U);
  EXPECT_EQ(all.name, "test + test");
}

TEST(Merge, WhatTheLaterScanDoesNotKnowStays) {
  Builder early = fat_tree();
  Builder late = fat_tree();
  late.fabric.captured = "2026-03-01T11:00:00Z";
  late.forget_support();
  late.forget_counters();
  const Fabric all = merge({early.fabric, late.fabric});
  EXPECT_EQ(all.nodes[0].ports[1].most_lanes, 4);
  EXPECT_TRUE(all.nodes[0].ports[1].counters.get(FabricCounter::kReceiveBytes).has_value());
}

TEST(Merge, ACableOnWhichScansDisagreeIsTheLaterOnesWithANote) {
  Builder early = fat_tree();
  Builder late = fat_tree();
  late.fabric.captured = "2026-03-01T11:00:00Z";
  late.unplug(late.node("leaf-1"), 8);
  late.plug(late.node("leaf-1"), 17, late.node("gpu-8 mlx5_0"), 1);
  const Fabric all = merge({early.fabric, late.fabric});
  ASSERT_EQ(all.notes.size(), 1U);
  EXPECT_EQ(all.notes[0].id, "fabric.merge.cable");
  const auto leaf = early.node("leaf-1");
  EXPECT_TRUE(all.nodes[leaf].ports[17].peer.has_value());
  EXPECT_FALSE(all.nodes[leaf].ports[8].peer.has_value());
}

TEST(Merge, KindsAreNotMixed) {
  Builder one = fat_tree();
  Fabric ethernet;
  ethernet.kind = model::FabricKind::kEthernet;
  ethernet.captured = "2026-03-02T11:00:00Z";
  ethernet.nodes.resize(2);
  const Fabric all = merge({one.fabric, ethernet});
  EXPECT_EQ(all.nodes.size(), 38U);
  ASSERT_EQ(all.notes.size(), 1U);
  EXPECT_EQ(all.notes[0].id, "fabric.merge.kind");
  EXPECT_TRUE(merge({}).nodes.empty());
}

}  // namespace
}  // namespace angio::fabric::test
