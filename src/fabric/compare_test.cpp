#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fabric/delta.hpp"
#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

using model::FabricChange;
using model::FabricChangeKind;
using model::FabricDiff;
using model::Severity;

Builder later(Builder build = fat_tree()) {
  build.fabric.captured = "2026-03-01T12:00:00Z";
  return build;
}
FabricDiff since(const Fabric& now) {
  return compare(fat_tree().fabric, now);
}
std::string list(const FabricDiff& diff) {
  std::string text;
  for (const FabricChange& change : diff.changes)
    text += fmt::format("{} | {} | {} | {} | {}\n", model::name_of(change.kind), change.where, change.before,
                        change.after, change.meaning);
  return text;
}
Fabric drop(const Builder& build, const std::vector<std::string>& names) {
  std::vector<std::uint32_t> index;
  Fabric rest = build.fabric;
  rest.nodes.clear();
  for (const auto& node : build.fabric.nodes) {
    const bool gone = std::ranges::find(names, node.description) != names.end();
    index.push_back(gone ? 0xffffffffU : static_cast<std::uint32_t>(rest.nodes.size()));
    if (!gone) rest.nodes.push_back(node);
  }
  for (auto& node : rest.nodes)
    for (FabricPort& port : node.ports) {
      if (!port.peer) continue;
      port.peer->node = index[port.peer->node];
      if (port.peer->node == 0xffffffffU) port.peer.reset();
    }
  return rest;
}

TEST(Compare, TheSameScanHasNoChange) {
  const FabricDiff diff = since(later().fabric);
  EXPECT_EQ(diff.changes.size(), 0U) << list(diff);
  EXPECT_EQ(diff.nodes_alike, 38U);
  EXPECT_EQ(diff.links_alike, 64U);
  EXPECT_DOUBLE_EQ(diff.seconds_between.value_or(0), 7200);
}

TEST(Compare, ACableGoneIsAWarningAndANewOneARemark) {
  Builder now = later();
  now.unplug(now.node("leaf-1"), 12);
  const FabricDiff gone = since(now.fabric);
  ASSERT_EQ(gone.changes.size(), 1U) << list(gone);
  EXPECT_EQ(gone.changes[0].kind, FabricChangeKind::kLinkGone);
  EXPECT_EQ(gone.changes[0].severity, Severity::kWarning);
  EXPECT_EQ(gone.changes[0].where, "leaf-1 port 12 to spine-1 port 4");
  EXPECT_EQ(gone.changes[0].before, "4x HDR (200 Gb/s)");
  EXPECT_EQ(gone.links_alike, 63U);
  const FabricDiff back = compare(now.fabric, fat_tree().fabric);
  ASSERT_EQ(back.changes.size(), 1U) << list(back);
  EXPECT_EQ(back.changes[0].kind, FabricChangeKind::kLinkNew);
  EXPECT_EQ(back.changes[0].severity, Severity::kInfo);
  EXPECT_FALSE(back.seconds_between) << "the later scan is the earlier one";
}

TEST(Compare, ACableGoneBetweenPortsThatNobodyListsAnyMore) {
  Builder now = later();
  now.unplug(now.node("leaf-1"), 12);
  for (const auto& [name, number] : {std::pair("leaf-1", 12U), std::pair("spine-1", 4U)}) {
    auto& ports = now.fabric.nodes[now.node(name)].ports;
    for (auto& node : now.fabric.nodes)  // peers are by index
      for (FabricPort& port : node.ports)
        if (port.peer && port.peer->node == now.node(name) && port.peer->port > number) --port.peer->port;
    std::erase_if(ports, [&](const FabricPort& port) { return port.number == number; });
  }
  const FabricDiff gone = since(now.fabric);
  ASSERT_EQ(gone.changes.size(), 1U) << list(gone);
  EXPECT_EQ(gone.changes[0].kind, FabricChangeKind::kLinkGone);
  EXPECT_EQ(gone.changes[0].where, "leaf-1 port 12 to spine-1 port 4");
  EXPECT_EQ(gone.changes[0].after, "not listed");
}

TEST(Compare, ASwitchThatWasReplacedIsOneChange) {
  Builder now = later();
  now.fabric.nodes[now.node("leaf-2")].guid.value += 1;
  now.port("leaf-2", 0).lid = Lid{500};
  now.port("leaf-2", 9).counters.set(FabricCounter::kLinkDowned, 3);
  const FabricDiff diff = since(now.fabric);
  ASSERT_EQ(diff.changes.size(), 1U) << list(diff);
  EXPECT_EQ(diff.changes[0].kind, FabricChangeKind::kReplaced);
  EXPECT_EQ(diff.changes[0].severity, Severity::kInfo);
  EXPECT_EQ(diff.changes[0].where, "leaf-2");
  EXPECT_EQ(diff.changes[0].before, "0x248a070300100010");
  EXPECT_EQ(diff.changes[0].after, "0x248a070300100011");
  EXPECT_EQ(diff.nodes_alike, 37U);
  EXPECT_EQ(diff.links_alike, 64U);
}

TEST(Compare, AnAdapterOfTheSameNameOnAnotherLeafIsAnotherOne) {
  Builder now = later();
  now.unplug(now.node("leaf-1"), 8);
  now.fabric.nodes[now.node("gpu-8 mlx5_0")].guid.value += 1;
  now.plug(now.node("leaf-3"), 17, now.node("gpu-8 mlx5_0"), 1);
  const FabricDiff diff = since(now.fabric);
  ASSERT_EQ(diff.changes.size(), 2U) << list(diff);
  EXPECT_EQ(diff.changes[0].kind, FabricChangeKind::kNodeGone);
  EXPECT_EQ(diff.changes[1].kind, FabricChangeKind::kNodeNew);
}

TEST(Compare, AHostThatWasRenamedIsOneChange) {
  const Builder before = rail_tree();
  Builder now = before;
  for (int k = 0; k < 4; ++k)
    now.fabric.nodes[now.node(fmt::format("gpu-6 mlx5_{}", k))].description = fmt::format("spare mlx5_{}", k);
  const FabricDiff diff = compare(before.fabric, now.fabric);
  ASSERT_EQ(diff.changes.size(), 1U) << list(diff);
  EXPECT_EQ(diff.changes[0].kind, FabricChangeKind::kRenamed);
  EXPECT_EQ(diff.changes[0].where, "4 adapters");
  EXPECT_EQ(diff.changes[0].before, "gpu-6");
  EXPECT_EQ(diff.changes[0].after, "spare");
}

TEST(Compare, ErrorsThatCameAfterAClearAreTold) {
  Builder before = fat_tree();
  before.port("leaf-2", 3).counters.set(FabricCounter::kSymbolErrors, 5000);
  Builder now = later();
  now.port("leaf-2", 3).counters.set(FabricCounter::kSymbolErrors, 400);
  const FabricDiff diff = compare(before.fabric, now.fabric);
  ASSERT_EQ(diff.changes.size(), 2U) << list(diff);
  EXPECT_EQ(diff.changes[0].kind, FabricChangeKind::kCounter);
  EXPECT_EQ(diff.changes[0].severity, Severity::kWarning);
  EXPECT_EQ(
      diff.changes[0].meaning,
      "cleared in between, at least +400 in 2 h, 200 an hour: 2.8e-13 a bit of the line, HDR should stay "
      "below 1e-14");
  EXPECT_EQ(diff.changes[1].kind, FabricChangeKind::kCounterReset);
}

TEST(Compare, ACableThatMovedIsToldOnce) {
  Builder now = later();
  now.unplug(now.node("leaf-1"), 8);
  now.plug(now.node("leaf-1"), 17, now.node("gpu-8 mlx5_0"), 1);
  now.port("gpu-8 mlx5_0", 1).lid = fat_tree().port("gpu-8 mlx5_0", 1).lid;
  const FabricDiff diff = since(now.fabric);
  ASSERT_EQ(diff.changes.size(), 1U) << list(diff);
  EXPECT_EQ(diff.changes[0].kind, FabricChangeKind::kCableMoved);
  EXPECT_EQ(diff.changes[0].where, "gpu-8 mlx5_0 port 1");
  EXPECT_EQ(diff.changes[0].before, "leaf-1 port 8");
  EXPECT_EQ(diff.changes[0].after, "leaf-1 port 17");
}

TEST(Compare, TwoSwappedCablesAreOneSwap) {
  Builder now = later();
  now.unplug(now.node("leaf-1"), 12);
  now.unplug(now.node("leaf-2"), 13);
  now.plug(now.node("leaf-1"), 12, now.node("spine-2"), 5);
  now.plug(now.node("leaf-2"), 13, now.node("spine-1"), 4);
  const FabricDiff diff = since(now.fabric);
  ASSERT_EQ(diff.changes.size(), 1U) << list(diff);
  EXPECT_EQ(diff.changes[0].kind, FabricChangeKind::kCableMoved);
  EXPECT_EQ(diff.changes[0].meaning, "two cables are swapped");
  EXPECT_EQ(diff.changes[0].where, "leaf-1 port 12 and leaf-2 port 13");
  EXPECT_EQ(diff.changes[0].before, "to spine-1 port 4 and spine-2 port 5");
  EXPECT_EQ(diff.changes[0].after, "to spine-2 port 5 and spine-1 port 4");
}

TEST(Compare, AWholeLeafIsOneChange) {
  std::vector<std::string> names = {"leaf-2"};
  for (int h = 9; h <= 16; ++h)
    names.push_back(fmt::format("gpu-{} mlx5_0", h));
  const FabricDiff diff = since(drop(later(), names));
  ASSERT_EQ(diff.changes.size(), 1U) << list(diff);
  EXPECT_EQ(diff.changes[0].kind, FabricChangeKind::kNodeGone);
  EXPECT_EQ(diff.changes[0].where, "leaf-2");
  EXPECT_EQ(diff.changes[0].before, "16 cables");
  EXPECT_EQ(diff.changes[0].meaning,
            "gone with it 8 adapters that hang off it alone: gpu-9 mlx5_0, gpu-10 mlx5_0, gpu-11 mlx5_0, "
            "gpu-12 mlx5_0, gpu-13 "
            "mlx5_0, gpu-14 mlx5_0 and 2 more");
  const FabricDiff back = compare(drop(later(), names), fat_tree().fabric);
  ASSERT_EQ(back.changes.size(), 1U) << list(back);
  EXPECT_EQ(back.changes[0].kind, FabricChangeKind::kNodeNew);
}

TEST(Compare, AnAggregationNodeComesAndGoesWithItsSwitch) {
  const char* const kNode = "Mellanox Technologies Aggregation Node";
  Builder before = fat_tree();
  before.plug(before.node("leaf-2"), 18, before.add_adapter(kNode), 1);
  Builder now = before;
  now.fabric.nodes[now.node("leaf-2")].guid.value += 1;
  now.fabric.nodes[now.node(kNode)].guid.value += 1;
  const FabricDiff replaced = compare(before.fabric, now.fabric);
  ASSERT_EQ(replaced.changes.size(), 1U) << list(replaced);
  EXPECT_EQ(replaced.changes[0].where, "leaf-2");
  std::vector<std::string> names = {"leaf-2", kNode};
  for (int h = 9; h <= 16; ++h)
    names.push_back(fmt::format("gpu-{} mlx5_0", h));
  const FabricDiff gone = compare(before.fabric, drop(before, names));
  ASSERT_EQ(gone.changes.size(), 1U) << list(gone);
  EXPECT_EQ(gone.changes[0].meaning.substr(0, 46), "gone with it 8 adapters that hang off it alone");
}

TEST(Compare, AHostWithItsAdaptersIsOneChange) {
  const Builder before = rail_tree();
  const FabricDiff diff =
      compare(before.fabric, drop(before, {"gpu-6 mlx5_0", "gpu-6 mlx5_1", "gpu-6 mlx5_2", "gpu-6 mlx5_3"}));
  ASSERT_EQ(diff.changes.size(), 1U) << list(diff);
  EXPECT_EQ(diff.changes[0].where, "gpu-6");
  EXPECT_EQ(diff.changes[0].before, "4 adapters");
}

TEST(Compare, SpeedWidthStateNameAndLid) {
  Builder now = later();
  now.set_rate(now.node("leaf-1"), 1, 4, LaneSpeedName::kEdr);
  now.set_rate(now.node("leaf-1"), 2, 1, LaneSpeedName::kHdr);
  now.port("leaf-1", 3).state = PortState::kInit;
  now.fabric.nodes[now.node("gpu-20 mlx5_0")].description = "gpu-x mlx5_0";
  now.port("gpu-30 mlx5_0", 1).lid = Lid{999};
  const FabricDiff diff = since(now.fabric);
  ASSERT_EQ(diff.changes.size(), 5U) << list(diff);
  EXPECT_EQ(diff.changes[0].kind, FabricChangeKind::kSpeed);
  EXPECT_EQ(diff.changes[0].where, "leaf-1 port 1 to gpu-1 mlx5_0 port 1");
  EXPECT_EQ(diff.changes[0].after, "4x EDR (100 Gb/s)");
  EXPECT_EQ(diff.changes[1].kind, FabricChangeKind::kWidth);
  EXPECT_EQ(diff.changes[1].severity, Severity::kWarning);
  EXPECT_EQ(diff.changes[2].kind, FabricChangeKind::kState);
  EXPECT_EQ(diff.changes[2].after, "Initialize (LinkUp)");
  EXPECT_EQ(diff.changes[3].kind, FabricChangeKind::kRenamed);
  EXPECT_EQ(diff.changes[3].before, "gpu-20 mlx5_0");
  EXPECT_EQ(diff.changes[4].kind, FabricChangeKind::kLid);
  EXPECT_EQ(diff.changes[4].after, "LID 999");
}

TEST(Compare, CountersGrowWithARateAndFallByAReset) {
  Builder before = fat_tree();
  before.port("leaf-2", 4).counters.set(FabricCounter::kLinkDowned, 9);
  Builder now = later();
  now.port("leaf-2", 3).counters.set(FabricCounter::kSymbolErrors, 400);
  now.port("leaf-2", 5).counters.set(FabricCounter::kLinkDowned, 1);
  now.port("leaf-2", 3).counters.set(FabricCounter::kTransmitBytes, 123456789);
  const FabricDiff diff = compare(before.fabric, now.fabric);
  ASSERT_EQ(diff.changes.size(), 3U) << list(diff);
  EXPECT_EQ(diff.changes[0].severity, Severity::kWarning);
  EXPECT_EQ(diff.changes[0].where, "leaf-2 port 3");
  EXPECT_EQ(diff.changes[0].before, "SymbolErrorCounter 0");
  EXPECT_EQ(diff.changes[0].after, "SymbolErrorCounter 400");
  EXPECT_EQ(diff.changes[0].meaning,
            "+400 in 2 h, 200 an hour: 2.8e-13 a bit of the line, HDR should stay below 1e-14");
  EXPECT_EQ(diff.changes[1].kind, FabricChangeKind::kCounter);
  EXPECT_EQ(diff.changes[1].severity, Severity::kInfo) << "one restart";
  EXPECT_EQ(diff.changes[2].kind, FabricChangeKind::kCounterReset);
  EXPECT_EQ(diff.changes[2].where, "leaf-2 port 4");
}

TEST(Compare, ClearedCountersOfAllPortsAreOneChange) {
  Builder before = fat_tree();
  for (auto& node : before.fabric.nodes)
    for (FabricPort& port : node.ports)
      port.counters.set(FabricCounter::kReceivePackets, 2'000'000'000'000);
  const FabricDiff diff = compare(before.fabric, later().fabric);
  ASSERT_EQ(diff.changes.size(), 1U) << list(diff);
  EXPECT_EQ(diff.changes[0].meaning, "counters of most ports fell: somebody cleared them");
}

TEST(Compare, OfATextThatIsCutNothingIsSurelyGone) {
  Fabric part = drop(later(), {"gpu-7 mlx5_0"});
  part.notes.push_back({"fabric.text-cut", "cut", 1, ""});
  const FabricDiff diff = since(part);
  ASSERT_EQ(diff.changes.size(), 1U) << list(diff);
  EXPECT_EQ(diff.changes[0].severity, Severity::kInfo);
  EXPECT_EQ(diff.changes[0].meaning, "the later one is not whole: perhaps only not read");
}

TEST(Compare, ADuplicateGuidOnBothSidesIsNoChange) {
  Builder before = fat_tree();
  before.fabric.nodes[before.node("gpu-3 mlx5_0")].guid =
      before.fabric.nodes[before.node("gpu-9 mlx5_0")].guid;
  Builder now = before;
  EXPECT_EQ(compare(before.fabric, now.fabric).changes.size(), 0U);
}

TEST(Instant, Rfc3339) {
  EXPECT_DOUBLE_EQ(parse_instant("1970-01-01T00:00:00Z").value_or(-1), 0);
  EXPECT_DOUBLE_EQ(parse_instant("2026-03-01T10:00:00Z").value_or(-1), 1772359200);
  EXPECT_DOUBLE_EQ(parse_instant("2026-03-01T11:00:00+01:00").value_or(-1), 1772359200);
  EXPECT_DOUBLE_EQ(parse_instant("2026-03-01T10:00:00.5Z").value_or(-1), 1772359200.5);
  EXPECT_FALSE(parse_instant("yesterday"));
  EXPECT_FALSE(parse_instant("2026-13-01T10:00:00Z"));
  EXPECT_FALSE(parse_instant("2026-03-01T10:00:00"));
}

}  // namespace
}  // namespace angio::fabric::test
