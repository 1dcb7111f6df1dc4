#include "probe/umad/walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "probe/umad/test_fabric.hpp"

namespace angio::probe::umad {
namespace {

using model::FabricCounter;
using model::FabricNodeKind;

// Asks one question after the other; 100000 questions are no end.
model::Fabric scan(const TestFabric& fabric, const WalkLimits& limits = {}, std::uint32_t* asked = nullptr) {
  FabricWalk walk(limits);
  std::uint32_t count = 0;
  while (const std::optional<Ask> ask = walk.next()) {
    EXPECT_LT(++count, 100'000U);
    if (count >= 100'000) break;
    const auto reply = fabric.answer(walk.request(*ask, count), walk.lid_of(*ask));
    if (!reply) {
      walk.give_up(*ask, 3);
      continue;
    }
    const AnswerHead head = read_head(*reply, ask->question, static_cast<std::uint8_t>(ask->port));
    EXPECT_TRUE(head.fits);
    if (head.status != 0) {
      walk.refuse(*ask, head.status);
    } else {
      walk.answer(*ask, payload_of(*reply));
    }
  }
  EXPECT_TRUE(walk.done());
  if (asked != nullptr) *asked = count;
  return walk.take();
}

const model::FabricNode& node(const model::Fabric& fabric, std::uint64_t guid) {
  static const model::FabricNode kNone;
  const auto found = std::ranges::find(fabric.nodes, model::NodeGuid{guid}, &model::FabricNode::guid);
  EXPECT_NE(found, fabric.nodes.end()) << std::hex << guid;
  return found != fabric.nodes.end() ? *found : kNone;
}

std::string peer_of(const model::Fabric& fabric, std::uint64_t guid, std::uint32_t number) {
  const model::FabricPort* port = model::find_port(node(fabric, guid), number);
  if (port == nullptr || !port->peer) return "";
  return model::describe(fabric, *port->peer);
}

const model::Note* note(const model::Fabric& fabric, std::string_view id) {
  const auto found = std::ranges::find(fabric.notes, id, &model::Note::id);
  return found != fabric.notes.end() ? &*found : nullptr;
}

// Two hosts under a leaf, one under another, a spine above both.
TestFabric small_tree() {
  TestFabric fabric;
  const auto a = fabric.add_adapter(0x100, "host-a mlx5_0", 1);
  const auto leaf_1 = fabric.add_switch(0x200, "leaf-1", 6, 2);
  const auto b = fabric.add_adapter(0x300, "host-b mlx5_0", 3);
  const auto spine = fabric.add_switch(0x400, "spine-1", 4, 4);
  const auto leaf_2 = fabric.add_switch(0x500, "leaf-2", 6, 5);
  const auto c = fabric.add_adapter(0x600, "host-c mlx5_0", 6);
  fabric.cable(a, 1, leaf_1, 1);
  fabric.cable(b, 1, leaf_1, 2);
  fabric.cable(leaf_1, 6, spine, 1);
  fabric.cable(leaf_2, 6, spine, 2);
  fabric.cable(c, 1, leaf_2, 3);
  return fabric;
}

TEST(FabricWalk, FindsNodesPortsAndCables) {
  const model::Fabric fabric = scan(small_tree());
  ASSERT_EQ(fabric.nodes.size(), 6U);
  EXPECT_TRUE(fabric.notes.empty());
  EXPECT_EQ(fabric.seen_from, std::vector<std::string>{"host-a mlx5_0 port 1"});
  EXPECT_EQ(node(fabric, 0x400).description, "spine-1");
  EXPECT_EQ(node(fabric, 0x400).kind, FabricNodeKind::kSwitch);
  EXPECT_EQ(peer_of(fabric, 0x100, 1), "leaf-1 port 1");
  EXPECT_EQ(peer_of(fabric, 0x400, 2), "leaf-2 port 6");
  EXPECT_EQ(peer_of(fabric, 0x600, 1), "leaf-2 port 3");
  EXPECT_EQ(node(fabric, 0x500).ports.size(), 7U);  // those without a cable as well
  EXPECT_EQ(model::find_port(node(fabric, 0x500), 5)->state, model::PortState::kDown);
  EXPECT_EQ(model::find_port(node(fabric, 0x500), 0)->lid, Lid{5});
  EXPECT_EQ(model::find_port(node(fabric, 0x600), 1)->guid, 0x601U);
  EXPECT_EQ(model::find_port(node(fabric, 0x600), 1)->speed, model::LaneSpeedName::kHdr);
}

TEST(FabricWalk, CountersOfEveryPortInTheSamePass) {
  TestFabric fabric = small_tree();
  fabric.nodes[1].ports[2].counters[5] = 77;  // leaf-1 port 2
  fabric.nodes[5].ports[1].counters[7] = 3;   // host-c
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(model::find_port(node(seen, 0x200), 2)->counters.get(FabricCounter::kSymbolErrors), 77U);
  EXPECT_EQ(model::find_port(node(seen, 0x200), 3)->counters.get(FabricCounter::kSymbolErrors), 0U);
  EXPECT_EQ(model::find_port(node(seen, 0x600), 1)->counters.get(FabricCounter::kLinkDowned), 3U);
  EXPECT_TRUE(model::find_port(node(seen, 0x200), 0)->counters.empty());  // not an enhanced port 0
  fabric.nodes[1].enhanced_port0 = true;
  EXPECT_FALSE(model::find_port(node(scan(fabric), 0x200), 0)->counters.empty());
  const model::Fabric without = scan(fabric, {.counters = false});
  EXPECT_TRUE(model::find_port(node(without, 0x200), 2)->counters.empty());
}

TEST(FabricWalk, SumsOverAllPortsSaveQuestions) {
  TestFabric fabric = small_tree();
  std::uint32_t plain = 0, healthy = 0, faulty = 0;
  for (TestNode& one : fabric.nodes)
    one.counter_mask = 1U << 9U;
  const model::Fabric first = scan(fabric, {}, &plain);
  for (TestNode& one : fabric.nodes)
    one.counter_mask |= 1U << 8U;
  const model::Fabric second = scan(fabric, {}, &healthy);
  // 16 switch ports less, 3 sums more
  EXPECT_EQ(plain - healthy, 13U);
  EXPECT_EQ(model::find_port(node(second, 0x500), 4)->counters.get(FabricCounter::kSymbolErrors), 0U);
  fabric.nodes[4].ports[3].counters[5] = 9;  // leaf-2
  const model::Fabric third = scan(fabric, {}, &faulty);
  EXPECT_EQ(faulty - healthy, 6U);
  EXPECT_EQ(model::find_port(node(third, 0x500), 3)->counters.get(FabricCounter::kSymbolErrors), 9U);
  EXPECT_EQ(model::find_port(node(third, 0x500), 4)->counters.get(FabricCounter::kSymbolErrors), 0U);
}

TEST(FabricWalk, AdditionalCountersNeedOneQuestionAPort) {
  TestFabric fabric = small_tree();
  for (TestNode& one : fabric.nodes) {
    one.counter_mask = 1U << 9U;
    one.counter_mask2 = 2;
  }
  fabric.nodes[2].ports[1].extended_counters[78] = 1;  // 256 symbol errors
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(model::find_port(node(seen, 0x300), 1)->counters.get(FabricCounter::kSymbolErrors), 256U);
}

TEST(FabricWalk, RouterAndSecondPortOfAnAdapter) {
  TestFabric fabric = small_tree();
  const auto router = fabric.add(3, 0x700, "router-1", 2);
  fabric.nodes[router].ports[2].lid = 9;
  fabric.cable(router, 2, 4, 1);
  // Port 1 of the router belongs to another subnet, in which LID 3 is somebody else's.
  fabric.nodes[router].ports[1].lid = 3;
  fabric.nodes[router].ports[1].state = 4;
  fabric.nodes[router].ports[1].physical = 5;
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(node(seen, 0x700).kind, FabricNodeKind::kRouter);
  EXPECT_EQ(peer_of(seen, 0x700, 2), "leaf-2 port 1");
  EXPECT_FALSE(model::find_port(node(seen, 0x700), 2)->counters.empty());
  EXPECT_TRUE(model::find_port(node(seen, 0x700), 1)->counters.empty());
  EXPECT_EQ(model::find_port(node(seen, 0x700), 1)->state, model::PortState::kActive);
  EXPECT_EQ(note(seen, "scan.lid-duplicate"), nullptr);
}

TEST(FabricWalk, TwoPortsOfOneAdapterOnTwoSides) {
  TestFabric fabric = small_tree();
  const auto both = fabric.add(1, 0x800, "host-d mlx4_0", 2);
  fabric.nodes[both].ports[1].lid = 11;
  fabric.nodes[both].ports[2].lid = 12;
  fabric.cable(both, 1, 1, 4);
  fabric.cable(both, 2, 4, 4);
  const model::Fabric seen = scan(fabric);
  ASSERT_EQ(seen.nodes.size(), 7U);
  EXPECT_EQ(peer_of(seen, 0x800, 1), "leaf-1 port 4");
  EXPECT_EQ(peer_of(seen, 0x800, 2), "leaf-2 port 4");
  EXPECT_FALSE(model::find_port(node(seen, 0x800), 1)->counters.empty());
  EXPECT_FALSE(model::find_port(node(seen, 0x800), 2)->counters.empty());
}

TEST(FabricWalk, Fdr10AndXdrAndTwoLanes) {
  TestFabric fabric = small_tree();
  TestPort& fdr10 = fabric.nodes[2].ports[1];
  fdr10.extended = 0;
  fdr10.vendor_info[15] = 1;
  fabric.nodes[5].ports[1].extended2 = 1;
  fabric.nodes[1].ports[2].width = 16;
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(model::find_port(node(seen, 0x300), 1)->speed, model::LaneSpeedName::kFdr10);
  EXPECT_EQ(model::find_port(node(seen, 0x600), 1)->speed, model::LaneSpeedName::kXdr);
  EXPECT_EQ(model::find_port(node(seen, 0x200), 2)->lanes, 2);
}

TEST(FabricWalk, ASilentNodeEndsAndIsNamed) {
  TestFabric fabric = small_tree();
  fabric.nodes[3].mute = true;  // the spine answers who it is and nothing else
  std::uint32_t asked = 0;
  const model::Fabric seen = scan(fabric, {}, &asked);
  EXPECT_EQ(seen.nodes.size(), 4U);
  EXPECT_EQ(node(seen, 0x400).trouble.substr(0, 17), "stopped answering");
  ASSERT_NE(note(seen, "scan.silent-node"), nullptr);
  EXPECT_EQ(peer_of(seen, 0x400, 1), "leaf-1 port 6");  // what was known stays
  EXPECT_LT(asked, 50U);
}

TEST(FabricWalk, NobodyBehindALinkThatIsUp) {
  TestFabric fabric = small_tree();
  TestPort& port = fabric.nodes[1].ports[5];
  port.state = 2;
  port.physical = 5;
  const model::Fabric seen = scan(fabric);
  const model::FabricPort* found = model::find_port(node(seen, 0x200), 5);
  EXPECT_EQ(found->trouble, "the node behind it gives no answer to NodeInfo in 3 tries");
  ASSERT_NE(note(seen, "scan.no-answer"), nullptr);
  EXPECT_EQ(note(seen, "scan.no-answer")->text,
            "leaf-1 port 5: the link is up and the node behind it gives no answer");
}

TEST(FabricWalk, ASilentAgentCostsNoLinks) {
  TestFabric fabric = small_tree();
  fabric.nodes[4].mute_agent = true;
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(seen.nodes.size(), 6U);
  EXPECT_EQ(node(seen, 0x500).trouble,
            "no answer to ClassPortInfo of the performance agent in 3 tries: its counters are not known");
  EXPECT_TRUE(model::find_port(node(seen, 0x500), 3)->counters.empty());
  EXPECT_FALSE(model::find_port(node(seen, 0x200), 2)->counters.empty());
}

TEST(FabricWalk, WithoutASubnetManagerThereAreNoCounters) {
  TestFabric fabric = small_tree();
  for (TestNode& one : fabric.nodes) {
    for (TestPort& port : one.ports)
      port.lid = 0;
  }
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(seen.nodes.size(), 6U);
  ASSERT_NE(note(seen, "scan.counters-unreachable"), nullptr);
  EXPECT_EQ(note(seen, "scan.counters-unreachable")->text,
            "the port of the scan is not active: no counters can be asked for");
}

TEST(FabricWalk, LoopsAndLoopPlugs) {
  TestFabric fabric = small_tree();
  fabric.cable(1, 3, 1, 4);  // a cable from a switch to itself
  fabric.nodes[4].ports[2].peer = {4, std::uint8_t{2}};
  fabric.nodes[4].ports[2].physical = 5;
  fabric.cable(1, 5, 4, 5);  // a ring of leaf, spine, leaf
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(seen.nodes.size(), 6U);
  EXPECT_EQ(peer_of(seen, 0x200, 3), "leaf-1 port 4");
  EXPECT_EQ(peer_of(seen, 0x200, 5), "leaf-2 port 5");
  EXPECT_EQ(peer_of(seen, 0x500, 2), "");
  EXPECT_EQ(model::find_port(node(seen, 0x500), 2)->trouble, "leads back to itself");
  EXPECT_NE(note(seen, "scan.loop-plug"), nullptr);
}

TEST(FabricWalk, TwoDevicesWithOneGuid) {
  TestFabric fabric = small_tree();
  const auto twin = fabric.add_adapter(0x300, "host-e mlx5_0", 21);  // as host-b
  fabric.cable(twin, 1, 4, 2);
  const auto other = fabric.add_switch(0x600, "leaf-9", 8, 22);  // as host-c, but a switch
  fabric.cable(other, 1, 3, 4);
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(seen.nodes.size(), 6U);
  ASSERT_NE(note(seen, "scan.two-peers"), nullptr);
  EXPECT_NE(note(seen, "scan.two-peers")->text.find("host-b mlx5_0 port 1"), std::string::npos);
  ASSERT_NE(note(seen, "scan.guid-duplicate"), nullptr);
  EXPECT_EQ(peer_of(seen, 0x300, 1), "leaf-1 port 2");
}

TEST(FabricWalk, GuidZeroPortGuidsAndLidsTwice) {
  TestFabric fabric = small_tree();
  const auto zero = fabric.add_adapter(0, "host-z", 30);
  fabric.cable(zero, 1, 4, 1);
  const auto same_port = fabric.add_adapter(0x2ff, "host-p", 31);  // 0x2ff + 1 is also the port of none
  fabric.nodes[same_port].guid = 0x5ff;  // its port GUID is 0x600, host-c's node GUID
  fabric.cable(same_port, 1, 4, 2);
  fabric.nodes[5].ports[1].lid = 3;  // host-c has host-b's LID
  const model::Fabric seen = scan(fabric);
  EXPECT_NE(note(seen, "scan.guid-zero"), nullptr);
  ASSERT_NE(note(seen, "scan.lid-duplicate"), nullptr);
  EXPECT_EQ(model::find_port(node(seen, 0x600), 1)->trouble,
            "LID 3 is also that of host-b mlx5_0 port 1; counters were not asked for");
  EXPECT_TRUE(model::find_port(node(seen, 0x600), 1)->counters.empty());
}

TEST(FabricWalk, ImpossibleNumbers) {
  TestFabric fabric = small_tree();
  fabric.nodes[2].stated_ports = 0;       // an adapter without ports, met at its port 1
  fabric.nodes[5].ports[1].lid = 0xc123;  // a multicast LID
  fabric.nodes[3].stated_ports = 255;
  const auto odd = fabric.add(77, 0x900, "odd", 2);
  fabric.cable(odd, 1, 4, 1);
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(seen.nodes.size(), 7U);
  EXPECT_EQ(peer_of(seen, 0x300, 1), "leaf-1 port 2");
  EXPECT_EQ(node(seen, 0x900).kind, FabricNodeKind::kUnknown);
  ASSERT_NE(note(seen, "scan.node-info"), nullptr);
  EXPECT_EQ(note(seen, "scan.node-info")->count, 3U);
  EXPECT_FALSE(model::find_port(node(seen, 0x600), 1)->lid.has_value());
  EXPECT_NE(note(seen, "scan.lid-range"), nullptr);
  EXPECT_EQ(node(seen, 0x400).stated_ports, 255U);
  EXPECT_EQ(peer_of(seen, 0x400, 2), "leaf-2 port 6");
}

TEST(FabricWalk, AChainEndsAt63Hops) {
  TestFabric fabric;
  const auto host = fabric.add_adapter(0x100, "host-a", 1);
  std::uint32_t last = host;
  for (std::uint32_t i = 0; i < 70; ++i) {
    const auto next =
        fabric.add_switch(0x1000 + i, "sw-" + std::to_string(i), 2, static_cast<std::uint16_t>(i + 2));
    fabric.cable(last, last == host ? 1 : 2, next, 1);
    last = next;
  }
  const model::Fabric seen = scan(fabric);
  EXPECT_EQ(seen.nodes.size(), 64U);  // the host and 63 switches
  ASSERT_NE(note(seen, "scan.hops"), nullptr);
  EXPECT_EQ(note(seen, "scan.hops")->count, 1U);
}

TEST(FabricWalk, LimitsEndAFabricThatInventsNodes) {
  const model::Fabric seen = scan(small_tree(), {.most_nodes = 3});
  EXPECT_EQ(seen.nodes.size(), 3U);
  ASSERT_NE(note(seen, "scan.limit"), nullptr);
  EXPECT_EQ(scan(small_tree(), {.most_ports = 9}).nodes.size(), 3U);
}

TEST(FabricWalk, OneNodeIsNotAskedMoreThanItCanBear) {
  const TestFabric fabric = small_tree();
  FabricWalk walk({.busy_node = 2});
  std::vector<Ask> under_way;
  std::uint32_t most = 0;
  std::set<std::uint64_t> names;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    if (const std::optional<Ask> ask = walk.next()) {
      under_way.push_back(*ask);
      const auto of_leaf = static_cast<std::uint32_t>(std::ranges::count_if(
          under_way, [](const Ask& one) { return one.node == 1 && one.question != Question::kNodeInfo; }));
      most = std::max(most, of_leaf);
      continue;
    }
    if (under_way.empty()) break;
    const Ask ask = under_way.front();
    under_way.erase(under_way.begin());
    walk.answer(ask, payload_of(*fabric.answer(walk.request(ask, i), walk.lid_of(ask))));
  }
  EXPECT_TRUE(walk.done());
  EXPECT_EQ(most, 2U);
  EXPECT_EQ(walk.take().nodes.size(), 6U);
}

}  // namespace
}  // namespace angio::probe::umad
