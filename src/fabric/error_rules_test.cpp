#include <gtest/gtest.h>

#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

using model::FabricReport;
using model::Severity;

constexpr const char* kSymbols = "fabric.link.symbol-errors";
constexpr const char* kReceive = "fabric.link.receive-errors";
constexpr const char* kRecoveries = "fabric.link.recoveries";
constexpr const char* kDowned = "fabric.link.downed";
constexpr const char* kBuffers = "fabric.link.buffer-errors";

TEST(FabricLinkSymbolErrors, FiresFromTheLimitOfTheSpeedOn) {
  // 3.2e16 bits were received: 3,200 errors are 1e-13, HDR's limit.
  const FabricReport report = with(FabricCounter::kSymbolErrors, 3300);
  ASSERT_EQ(count(report, kSymbols), 1U) << list(report);
  const auto& found = *find(report, kSymbols);
  EXPECT_EQ(found.finding.severity, Severity::kWarning);
  EXPECT_EQ(found.finding.title, "leaf-2 port 3 receives bad symbols: 3,300 since the counters were cleared");
  EXPECT_TRUE(has_evidence(found, "1.0e-13 errors a bit received"));
  EXPECT_TRUE(has_evidence(found, "its cable leads to gpu-11 mlx5_0 port 1"));
  EXPECT_EQ(alarms(report), 1U) << list(report);
}

TEST(FabricLinkSymbolErrors, FiresAsRemarkBetweenNormalAndLimit) {
  const FabricReport report = with(FabricCounter::kSymbolErrors, 1000);
  ASSERT_EQ(count(report, kSymbols), 1U);
  EXPECT_EQ(find(report, kSymbols)->finding.severity, Severity::kInfo);
}

TEST(FabricLinkSymbolErrors, FiresAsRemarkWithoutABase) {
  Builder build = fat_tree();
  build.port("leaf-2", 3).counters = {};
  build.port("leaf-2", 3).counters.set(FabricCounter::kSymbolErrors, 250);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kSymbols), 1U);
  EXPECT_EQ(find(report, kSymbols)->finding.severity, Severity::kInfo);
  EXPECT_TRUE(
      has_evidence(*find(report, kSymbols), "no rate: neither a time nor the bytes received are known"));
}

TEST(FabricLinkSymbolErrors, FiresWhereTheCounterIsFullAndTheLinkRetrained) {
  Builder build = fat_tree();
  build.port("leaf-2", 3).counters = {};
  build.port("leaf-2", 3).counters.set(FabricCounter::kSymbolErrors, 65535, true);
  build.port("leaf-2", 3).counters.set(FabricCounter::kLinkErrorRecoveries, 8);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kSymbols), 1U);
  EXPECT_EQ(find(report, kSymbols)->finding.severity, Severity::kWarning);
}

TEST(FabricLinkSymbolErrors, FiresByTheTimeBetweenTwoScans) {
  // 200 Gb/s for two hours: 1.44e15 bits; 1e-13 of them are 144.
  const FabricReport report = grown(FabricCounter::kSymbolErrors, 500, 700);
  ASSERT_EQ(count(report, kSymbols), 1U) << list(report);
  EXPECT_EQ(find(report, kSymbols)->finding.title, "leaf-2 port 3 receives bad symbols: 200 in 2 h");
  EXPECT_EQ(find(report, kSymbols)->finding.severity, Severity::kWarning);
}

TEST(FabricLinkSymbolErrors, SilentBelowWhatIsNormalAndWithoutGrowth) {
  EXPECT_TRUE(held(with(FabricCounter::kSymbolErrors, 10), kSymbols));
  EXPECT_TRUE(held(with(FabricCounter::kSymbolErrors, 300), kSymbols)) << "9e-15";
  EXPECT_TRUE(held(grown(FabricCounter::kSymbolErrors, 50000, 50000), kSymbols)) << "an old story";
}

TEST(FabricLinkSymbolErrors, UndecidedWithoutCounters) {
  EXPECT_EQ(gap(without_counters(), kSymbols), "counters of any port");
}

TEST(FabricLinkReceiveErrors, FiresByTheShareOfPackets) {
  const FabricReport report = with(FabricCounter::kReceiveErrors, 50);
  ASSERT_EQ(count(report, kReceive), 1U) << list(report);
  EXPECT_EQ(find(report, kReceive)->finding.severity, Severity::kWarning);
  EXPECT_TRUE(
      has_evidence(*find(report, kReceive), "5.0e-11 of 1,000,000,000,000 packets; 1e-12 is too many"));
}

TEST(FabricLinkReceiveErrors, SilentForAHandful) {
  EXPECT_TRUE(held(with(FabricCounter::kReceiveErrors, 10), kReceive));
}

TEST(FabricLinkReceiveErrors, UndecidedWithoutCounters) {
  EXPECT_EQ(gap(without_counters(), kReceive), "counters of any port");
}

TEST(FabricLinkRecoveries, FiresFarAboveTheMedian) {
  const FabricReport report = with(FabricCounter::kLinkErrorRecoveries, 40);
  ASSERT_EQ(count(report, kRecoveries), 1U) << list(report);
  EXPECT_EQ(find(report, kRecoveries)->finding.severity, Severity::kWarning);
  EXPECT_EQ(find(report, kRecoveries)->finding.title,
            "leaf-2 port 3 retrained its link 40 times since the counters were cleared");
}

TEST(FabricLinkRecoveries, SilentForAFew) {
  EXPECT_TRUE(held(with(FabricCounter::kLinkErrorRecoveries, 20), kRecoveries));
}

TEST(FabricLinkRecoveries, UndecidedWithoutCounters) {
  EXPECT_EQ(gap(without_counters(), kRecoveries), "counters of any port");
}

TEST(FabricLinkDowned, FiresForOnePortAndForGrowth) {
  EXPECT_EQ(count(with(FabricCounter::kLinkDowned, 48), kDowned), 1U);
  const FabricReport report = grown(FabricCounter::kLinkDowned, 3, 8);
  ASSERT_EQ(count(report, kDowned), 1U) << list(report);
  EXPECT_EQ(find(report, kDowned)->finding.title, "leaf-2 port 3 lost its link 5 times in 2 h");
}

TEST(FabricLinkDowned, FiresAsRemarkWhereAllPortsHaveAHistory) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    for (FabricPort& port : node.ports)
      port.counters.set(FabricCounter::kLinkDowned, 15);
  build.port("leaf-2", 3).counters.set(FabricCounter::kLinkDowned, 30);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kDowned), 1U);
  EXPECT_EQ(find(report, kDowned)->finding.severity, Severity::kInfo);
}

TEST(FabricLinkDowned, SilentForRestarts) {
  EXPECT_TRUE(held(with(FabricCounter::kLinkDowned, 12), kDowned));
  EXPECT_TRUE(held(grown(FabricCounter::kLinkDowned, 40, 41), kDowned)) << "one restart";
}

TEST(FabricLinkDowned, UndecidedWithoutCounters) {
  EXPECT_EQ(gap(without_counters(), kDowned), "counters of any port");
}

TEST(FabricLinkBufferErrors, FiresForEither) {
  EXPECT_EQ(find(with(FabricCounter::kLocalLinkIntegrityErrors, 15), kBuffers)->finding.title,
            "leaf-2 port 3 found its line bad beyond its own limit: 15 since the counters were cleared");
  EXPECT_EQ(find(with(FabricCounter::kExcessiveBufferOverruns, 12), kBuffers)->finding.title,
            "leaf-2 port 3 received more than its buffers hold: 12 since the counters were cleared");
}

TEST(FabricLinkBufferErrors, SilentForAHandful) {
  EXPECT_TRUE(held(with(FabricCounter::kLocalLinkIntegrityErrors, 10), kBuffers));
}

TEST(FabricLinkBufferErrors, UndecidedWithoutCounters) {
  EXPECT_EQ(gap(without_counters(), kBuffers), "counters of any port");
}

}  // namespace
}  // namespace angio::fabric::test
