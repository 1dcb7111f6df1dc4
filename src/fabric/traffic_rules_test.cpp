#include <gtest/gtest.h>

#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

using model::FabricReport;
using model::Severity;

constexpr const char* kDiscards = "fabric.port.discards";
constexpr const char* kConstraint = "fabric.port.constraint-errors";
constexpr const char* kManagement = "fabric.port.management-dropped";
constexpr const char* kWaiting = "fabric.port.waiting";
constexpr const char* kStuck = "fabric.port.counters-stuck";

TEST(FabricPortDiscards, FiresAsRemarkFromTotalsAndAsWarningFromGrowth) {
  const FabricReport total = with(FabricCounter::kTransmitDiscards, 15854);
  ASSERT_EQ(count(total, kDiscards), 1U) << list(total);
  EXPECT_EQ(find(total, kDiscards)->finding.severity, Severity::kInfo);
  EXPECT_EQ(find(total, kDiscards)->finding.title,
            "leaf-2 port 3 dropped packets that waited too long or had no link: 15,854");
  EXPECT_EQ(find(grown(FabricCounter::kTransmitDiscards, 5, 900), kDiscards)->finding.severity,
            Severity::kWarning);
}

TEST(FabricPortDiscards, SilentForAFewAndWithoutGrowth) {
  EXPECT_TRUE(held(with(FabricCounter::kTransmitDiscards, 100), kDiscards));
  EXPECT_TRUE(held(grown(FabricCounter::kTransmitDiscards, 15854, 15854), kDiscards));
}

TEST(FabricPortDiscards, UndecidedWithoutCounters) {
  EXPECT_EQ(gap(without_counters(), kDiscards), "counters of any port");
}

TEST(FabricPortDiscards, UndecidedWhereThisCounterIsMissing) {
  Builder build = fat_tree();
  build.forget_counters();
  build.port("leaf-1", 1).counters.set(FabricCounter::kSymbolErrors, 0);
  EXPECT_EQ(gap(analyse(build.fabric), kDiscards), "PortXmitDiscards of any port");
}

TEST(FabricPortConstraintErrors, Fires) {
  const FabricReport report = with(FabricCounter::kReceiveConstraintErrors, 1500);
  ASSERT_EQ(count(report, kConstraint), 1U);
  EXPECT_EQ(find(report, kConstraint)->finding.title,
            "leaf-2 port 3 refused 1,500 packets: partition keys or raw packets are filtered");
}

TEST(FabricPortConstraintErrors, SilentForAFew) {
  EXPECT_TRUE(held(with(FabricCounter::kTransmitConstraintErrors, 90), kConstraint));
}

TEST(FabricPortConstraintErrors, UndecidedWithoutCounters) {
  EXPECT_EQ(gap(without_counters(), kConstraint), "counters of any port");
}

TEST(FabricPortManagementDropped, FiresOnceForAllPorts) {
  Builder build = fat_tree();
  build.port("leaf-2", 3).counters.set(FabricCounter::kVl15Dropped, 300);
  build.port("leaf-3", 0).counters.set(FabricCounter::kVl15Dropped, 5000);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kManagement), 1U) << list(report);
  EXPECT_EQ(find(report, kManagement)->finding.title,
            "2 ports dropped management packets: 5,000 at the worst");
  EXPECT_EQ(alarms(report), 0U);
}

TEST(FabricPortManagementDropped, SilentForAFew) {
  EXPECT_TRUE(held(with(FabricCounter::kVl15Dropped, 14), kManagement));
}

TEST(FabricPortManagementDropped, UndecidedWithoutCounters) {
  EXPECT_EQ(gap(without_counters(), kManagement), "counters of any port");
}

TEST(FabricPortWaiting, FiresByTheTimeBetweenTwoScans) {
  // 7,200 s at 25 GB/s are 1.8e14 bytes; a tick of Quantum is 8 bytes.
  const FabricReport report = grown(FabricCounter::kTransmitWait, 0, 13'500'000'000'000);
  ASSERT_EQ(count(report, kWaiting), 1U) << list(report);
  EXPECT_EQ(find(report, kWaiting)->finding.title, "leaf-2 port 3 had data and no credits for 60 % of 2 h");
  EXPECT_EQ(find(report, kWaiting)->finding.severity, Severity::kWarning);
  EXPECT_EQ(find(report, kWaiting)->finding.cost.text, "120 Gb/s of 200 Gb/s on this cable");
  EXPECT_EQ(find(grown(FabricCounter::kTransmitWait, 0, 4'500'000'000'000), kWaiting)->finding.severity,
            Severity::kInfo);
}

TEST(FabricPortWaiting, SilentForALittle) {
  EXPECT_TRUE(held(grown(FabricCounter::kTransmitWait, 0, 1'000'000'000'000), kWaiting));
}

TEST(FabricPortWaiting, UndecidedFromATotalAlone) {
  const FabricReport report = with(FabricCounter::kTransmitWait, 4'000'000'000);
  EXPECT_EQ(count(report, kWaiting), 0U);
  EXPECT_EQ(gap(report, kWaiting),
            "how long 1 port waited for credits: PortXmitWait is a total since an unknown reset");
}

TEST(FabricPortCountersStuck, FiresOnceForAllPorts) {
  const FabricReport report = with(FabricCounter::kTransmitWait, 4294967295, true);
  ASSERT_EQ(count(report, kStuck), 1U);
  EXPECT_EQ(find(report, kStuck)->finding.severity, Severity::kInfo);
  EXPECT_EQ(find(report, kStuck)->finding.title,
            "Counters of 1 port stand at their maximum and count no further");
  EXPECT_TRUE(has_evidence(*find(report, kStuck), "PortXmitWait"));
}

TEST(FabricPortCountersStuck, SilentForLargeValues) {
  EXPECT_TRUE(held(with(FabricCounter::kTransmitWait, 4294967295), kStuck));
}

TEST(FabricPortCountersStuck, UndecidedWithoutCounters) {
  EXPECT_EQ(gap(without_counters(), kStuck), "counters of any port");
}

}  // namespace
}  // namespace angio::fabric::test
