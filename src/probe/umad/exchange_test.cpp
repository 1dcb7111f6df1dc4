#include "probe/umad/exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "probe/umad/test_hostile.hpp"
#include "probe/umad/test_wire.hpp"

namespace angio::probe::umad {
namespace {

// A host and `others` more under one switch.
TestFabric star(std::uint8_t others) {
  TestFabric fabric;
  const auto host = fabric.add_adapter(0x100, "host-0 mlx5_0", 1);
  const auto leaf = fabric.add_switch(0x10, "leaf-1", static_cast<std::uint8_t>(others + 1), 2);
  fabric.cable(host, 1, leaf, 1);
  for (std::uint8_t i = 1; i <= others; ++i) {
    const auto other =
        fabric.add_adapter(0x100U * (i + 1U), "host-" + std::to_string(i), static_cast<std::uint16_t>(i + 2));
    fabric.cable(other, 1, leaf, static_cast<std::uint8_t>(i + 1));
  }
  return fabric;
}

struct Outcome {
  ScanWork work;
  model::Fabric fabric;
};

Outcome run(TestWire& wire, const TestClock& clock, const ScanOptions& options = {}) {
  FabricWalk walk({});
  Outcome outcome;
  outcome.work = Exchange(walk, wire, options, clock).run();
  outcome.fabric = walk.take();
  return outcome;
}

std::uint32_t count_of(const model::Fabric& fabric, std::string_view id) {
  const auto found = std::ranges::find(fabric.notes, id, &model::Note::id);
  return found != fabric.notes.end() ? found->count : 0;
}

TEST(MadExchange, ManyAreUnderWayAndAllComeBack) {
  const TestFabric fabric = star(40);
  const TestClock clock;
  TestWire wire(fabric, clock);
  const Outcome outcome = run(wire, clock, {.in_flight = 16});
  EXPECT_EQ(outcome.fabric.nodes.size(), 42U);
  EXPECT_EQ(outcome.work.sent, outcome.work.answered);
  EXPECT_EQ(outcome.work.resent, 0U);
  EXPECT_EQ(outcome.work.sent, wire.sent);
  EXPECT_GT(wire.most_under_way, 8U);
  EXPECT_LE(wire.most_under_way, 16U);
}

TEST(MadExchange, LostAnswersAreAskedForAgain) {
  for (const bool returned : {false, true}) {
    const TestFabric fabric = star(40);
    const TestClock clock;
    TestWire wire(fabric, clock);
    wire.returns_lost = returned;
    std::uint32_t count = 0;
    std::set<std::string> dropped;  // what stands behind the transaction; lost once at most
    wire.drop = [&](const MadBytes& mad) {
      return ++count % 7 == 0 && dropped.emplace(mad.begin() + 16, mad.end()).second;
    };
    const Outcome outcome = run(wire, clock);
    EXPECT_EQ(outcome.fabric.nodes.size(), 42U);
    EXPECT_EQ(outcome.work.given_up, 0U);
    EXPECT_GT(outcome.work.resent, 20U);
    EXPECT_EQ(outcome.work.sent, outcome.work.answered + outcome.work.resent);
  }
}

TEST(MadExchange, ADeadHostIsGivenUpWhileOthersGoOn) {
  TestFabric fabric = star(40);
  fabric.nodes[5].mute = true;
  const TestClock clock;
  TestWire wire(fabric, clock);
  const Outcome outcome = run(wire, clock, {.tries = 3});
  EXPECT_EQ(outcome.fabric.nodes.size(), 42U);
  EXPECT_EQ(outcome.work.given_up, 2U);  // NodeDescription and PortInfo
  EXPECT_EQ(outcome.work.resent, 4U);
  EXPECT_LT(outcome.work.seconds, 0.6);  // 200 ms of patience once, less before
}

TEST(MadExchange, TheLastTryIsShortAfterManyAnswersAndWholeWhereSomeWereLost) {
  for (const bool lossy : {false, true}) {
    TestFabric fabric = star(200);
    fabric.nodes[5].mute = true;
    const TestClock clock;
    TestWire wire(fabric, clock);
    std::uint32_t count = 0;
    wire.drop = [&](const MadBytes&) { return lossy && ++count == 20; };
    const Outcome outcome = run(wire, clock, {.tries = 3});
    EXPECT_EQ(outcome.fabric.nodes.size(), 202U);
    EXPECT_EQ(outcome.work.given_up, 2U);
    if (lossy)
      EXPECT_GT(outcome.work.seconds, 0.4);
    else
      EXPECT_LT(outcome.work.seconds, 0.35);
  }
}

TEST(MadExchange, AnswersOfNobodyAndMisfitsAreCountedAndLeftOut) {
  const TestFabric fabric = star(10);
  const TestClock clock;
  TestWire wire(fabric, clock);
  std::uint32_t count = 0;
  wire.bend = [&count](MadBytes& reply, std::deque<Incoming>& arrivals) {
    ++count;
    if (count == 2) reply[13] ^= 0x40;  // a transaction that nobody began; the question is asked again
    if (count == 3) reply[17] = 0x19;   // another attribute
    if (count == 4) arrivals.push_back({Arrival::kShort, {}, {}});
    if (count == 5) reply[3] = 0x02;                                 // a Set, of all things
    if (count == 6) arrivals.push_back({Arrival::kMad, reply, {}});  // twice the same
    if (count == 8) {
      MadBytes other = reply;
      for (std::size_t i = 12; i < 16; ++i)
        other.at(i) = 0xff;
      arrivals.push_back({Arrival::kMad, other, {}});
    }
  };
  const Outcome outcome = run(wire, clock);
  EXPECT_EQ(outcome.fabric.nodes.size(), 12U);
  EXPECT_EQ(count_of(outcome.fabric, "scan.misfit"), 2U);
  EXPECT_EQ(count_of(outcome.fabric, "scan.short-answer"), 1U);
  EXPECT_EQ(count_of(outcome.fabric, "scan.stray-answer"), 2U);  // the second of a pair is just late
  EXPECT_EQ(outcome.work.given_up, 0U);
}

TEST(MadExchange, TheLimitAndCtrlCEndItWithWhatIsThere) {
  const TestFabric fabric = star(40);
  const TestClock clock;
  TestWire wire(fabric, clock);
  std::uint32_t asked = 0;
  ScanOptions options;
  options.stop = [&asked] { return ++asked > 5; };
  const Outcome stopped = run(wire, clock, options);
  EXPECT_GE(stopped.fabric.nodes.size(), 1U);
  EXPECT_LT(stopped.fabric.nodes.size(), 42U);
  EXPECT_EQ(count_of(stopped.fabric, "scan.stopped"), 1U);
  TestWire mute(fabric, clock);
  mute.drop = [](const MadBytes&) { return true; };
  ScanOptions brief;
  brief.limit = std::chrono::seconds(1);
  brief.tries = 1000;
  const Outcome limited = run(mute, clock, brief);
  EXPECT_EQ(count_of(limited.fabric, "scan.time-limit"), 1U);
  EXPECT_LT(limited.work.seconds, 1.5);
}

TEST(MadExchange, AQueueThatIsFullEmptiesAndADeadDeviceDoesNot) {
  const TestFabric fabric = star(10);
  const TestClock clock;
  TestWire full(fabric, clock);
  std::uint32_t count = 0;
  full.refuse = [&count] { return ++count % 4 == 0; };
  EXPECT_EQ(run(full, clock).fabric.nodes.size(), 12U);
  TestWire dead(fabric, clock);
  std::uint32_t sent = 0;
  dead.refuse = [&sent] { return ++sent > 12; };
  const Outcome outcome = run(dead, clock);
  EXPECT_EQ(count_of(outcome.fabric, "scan.send"), 1U);
  EXPECT_GE(outcome.fabric.nodes.size(), 1U);
  EXPECT_LT(outcome.work.seconds, 2.0);
}

TEST(MadExchange, BusyIsAskedAgain) {
  const TestFabric fabric = star(4);
  const TestClock clock;
  TestWire wire(fabric, clock);
  std::uint32_t count = 0;
  wire.bend = [&count](MadBytes& reply, std::deque<Incoming>&) {
    if (++count == 3) reply[5] |= 1;
  };
  const Outcome outcome = run(wire, clock);
  EXPECT_EQ(outcome.fabric.nodes.size(), 6U);
  EXPECT_EQ(outcome.work.resent, 1U);
}

TEST(MadExchange, HostileAnswersEndWithinTheLimits) {
  std::mt19937 random(4711);
  for (std::uint32_t round = 0; round < 400; ++round) {
    std::vector<std::uint8_t> input(random() % 300);
    for (std::uint8_t& byte : input)
      byte = static_cast<std::uint8_t>(random());
    EXPECT_EQ(scan_hostile(input), "") << "round " << round;
  }
}

TEST(MadExchange, NobodyAnswersAtAll) {
  const TestFabric fabric = star(1);
  const TestClock clock;
  TestWire wire(fabric, clock);
  wire.drop = [](const MadBytes&) { return true; };
  FabricWalk walk({});
  const ScanWork work = Exchange(walk, wire, {}, clock).run();
  EXPECT_FALSE(walk.has_start());
  EXPECT_EQ(work.given_up, 1U);
  EXPECT_TRUE(walk.take().nodes.empty());
}

}  // namespace
}  // namespace angio::probe::umad
