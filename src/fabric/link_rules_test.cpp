#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

using model::FabricReport;
using model::Severity;

constexpr const char* kWidth = "fabric.link.width-reduced";
constexpr const char* kSpeed = "fabric.link.speed-reduced";
constexpr const char* kRestricted = "fabric.link.restricted";
constexpr const char* kPeers = "fabric.link.below-peers";
constexpr const char* kEnds = "fabric.link.ends-differ";
constexpr const char* kMtu = "fabric.link.mtu-differs";
constexpr const char* kHost = "fabric.host.speeds-differ";

TEST(FabricLinkWidthReduced, FiresWithBothEndsCostAndHosts) {
  Builder build = fat_tree();
  build.set_rate(build.node("leaf-2"), 3, 1, LaneSpeedName::kHdr);
  const FabricReport report = analyse(build.fabric, {.jobs = {{"gpu-11", {"4711"}}}});
  ASSERT_EQ(count(report, kWidth), 1U) << list(report);
  const auto& found = *find(report, kWidth);
  EXPECT_EQ(found.finding.title, "leaf-2 port 3 to gpu-11 mlx5_0 port 1 runs 1x HDR, both ends can 4x HDR");
  EXPECT_EQ(found.finding.severity, Severity::kWarning);
  EXPECT_EQ(found.finding.cost.text, "50 Gb/s of 200 Gb/s each way");
  EXPECT_DOUBLE_EQ(found.finding.rank, 0.75);
  EXPECT_TRUE(has_evidence(
      found, "leaf-2 port 3 (GUID 0x248a070300100010, LID 2): runs 1x HDR (50 Gb/s), can 4x HDR"));
  EXPECT_TRUE(has_evidence(found, "1 job: 4711"));
  ASSERT_EQ(found.hosts.size(), 1U);
  EXPECT_EQ(report.hosts[found.hosts[0]].name, "gpu-11");
  EXPECT_EQ(found.ports.size(), 2U);
  EXPECT_EQ(found.finding.node, "gpu-11");
  EXPECT_EQ(alarms(report), 1U) << list(report);
  EXPECT_NE(found.finding.disprove.find("ibportstate 2 3"), std::string::npos) << found.finding.disprove;
}

TEST(FabricLinkWidthReduced, FiresOnAnUplinkForAllHostsBelow) {
  Builder build = fat_tree();
  build.set_rate(build.node("leaf-2"), 9, 2, LaneSpeedName::kHdr);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kWidth), 1U) << list(report);
  EXPECT_EQ(find(report, kWidth)->hosts.size(), 8U);
  EXPECT_EQ(find(report, kWidth)->finding.node, "leaf-2");
}

TEST(FabricLinkWidthReduced, FiresBackToBack) {
  Builder build;
  build.plug(build.add_adapter("a mlx5_0"), 1, build.add_adapter("b mlx5_0"), 1);
  build.set_rate(0, 1, 1, LaneSpeedName::kHdr);
  EXPECT_EQ(count(analyse(build.fabric), kWidth), 1U);
}

TEST(FabricLinkWidthReduced, SilentWhereAPortHasFewerLanes) {
  Builder build = fat_tree();
  build.port("leaf-2", 3).most_lanes = build.port("leaf-2", 3).enabled_lanes = 2;  // a split port
  build.set_rate(build.node("leaf-2"), 3, 2, LaneSpeedName::kHdr);
  const FabricReport report = analyse(build.fabric);
  EXPECT_TRUE(held(report, kWidth)) << list(report);
  EXPECT_EQ(alarms(report), 0U) << list(report);
}

TEST(FabricLinkWidthReduced, UndecidedWithoutWhatPortsCan) {
  Builder build = fat_tree();
  build.forget_support();
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(gap(report, kWidth), "what both ends of 64 of 64 cables can");
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
}

TEST(FabricLinkSpeedReduced, FiresOnOneUplink) {
  Builder build = fat_tree();
  build.set_rate(build.node("leaf-3"), 10, 4, LaneSpeedName::kEdr);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kSpeed), 1U) << list(report);
  EXPECT_EQ(find(report, kSpeed)->finding.title,
            "leaf-3 port 10 to spine-1 port 10 runs at EDR, both ends can HDR");
  EXPECT_EQ(find(report, kSpeed)->finding.cost.text, "100 Gb/s of 200 Gb/s each way");
  EXPECT_EQ(alarms(report), 1U) << list(report);
}

TEST(FabricLinkSpeedReduced, FiresOnceAsRemarkWhereAllOfAKindRunSo) {
  Builder build = fat_tree();
  for (std::uint32_t leaf = 1; leaf <= 4; ++leaf)
    for (std::uint32_t port = 1; port <= 8; ++port)
      build.set_rate(build.node(fmt::format("leaf-{}", leaf)), port, 2, LaneSpeedName::kHdr);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(report.findings.size(), 1U) << list(report);
  EXPECT_EQ(report.findings[0].finding.rule, kSpeed);
  EXPECT_EQ(report.findings[0].finding.severity, Severity::kInfo);
  EXPECT_EQ(report.findings[0].finding.title,
            "32 cables run 2x HDR though both ends can 4x HDR: nearly all of their kind");
}

TEST(FabricLinkSpeedReduced, SilentForAnOlderServerOnANewerSwitch) {
  Builder build = fat_tree();
  build.plug(build.node("leaf-1"), 17, build.add_adapter("oss-1 mlx5_0", 1, LaneSpeedName::kEdr), 1);
  const FabricReport report = analyse(build.fabric);
  EXPECT_TRUE(held(report, kSpeed)) << list(report);
  EXPECT_EQ(alarms(report), 0U) << list(report);
}

TEST(FabricLinkSpeedReduced, UndecidedWhereOneEndDoesNotSay) {
  Builder build = fat_tree();
  build.port("leaf-1", 1).most_lanes = 0;
  EXPECT_EQ(gap(analyse(build.fabric), kSpeed), "what both ends of 1 of 64 cables can");
}

TEST(FabricLinkRestricted, FiresAndNamesThePortThatWasSet) {
  Builder build = fat_tree();
  build.port("leaf-4", 2).enabled_speed = LaneSpeedName::kEdr;
  build.set_rate(build.node("leaf-4"), 2, 4, LaneSpeedName::kEdr);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kRestricted), 1U) << list(report);
  EXPECT_EQ(find(report, kRestricted)->finding.title,
            "leaf-4 port 2 is set to at most 4x EDR, so its cable runs 4x EDR; both ends can 4x HDR");
  EXPECT_EQ(count(report, kSpeed), 0U);
}

TEST(FabricLinkRestricted, SilentForWhatNearlyAllPortsAreSetTo) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    for (FabricPort& port : node.ports)
      port.most_lanes = 12;  // 4 are allowed and run
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(alarms(report), 0U) << list(report);
  ASSERT_EQ(report.findings.size(), 1U) << list(report);
  EXPECT_EQ(report.findings[0].finding.title,
            "64 cables run 4x HDR though both ends can 12x HDR: nearly all of their kind");
}

TEST(FabricLinkRestricted, FiresForThePortThatIsSetToLessThanItsLikes) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    for (FabricPort& port : node.ports)
      port.most_lanes = 12;
  build.port("leaf-2", 3).enabled_lanes = 1;
  build.set_rate(build.node("leaf-2"), 3, 1, LaneSpeedName::kHdr);
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(alarms(report), 1U) << list(report);
  ASSERT_EQ(count(report, kRestricted), 1U) << list(report);
  EXPECT_EQ(find(report, kRestricted)->finding.title,
            "leaf-2 port 3 is set to at most 1x HDR, so its cable runs 1x HDR; both ends can 4x HDR");
  EXPECT_EQ(find(report, kRestricted)->finding.cost.text, "50 Gb/s of 200 Gb/s each way");
}

TEST(FabricLinkRestricted, SilentWhereTheOtherEndCanNoMore) {
  Builder build = fat_tree();
  build.port("leaf-1", 17).enabled_speed = LaneSpeedName::kEdr;
  build.plug(build.node("leaf-1"), 17, build.add_adapter("oss-1 mlx5_0", 1, LaneSpeedName::kEdr), 1);
  EXPECT_TRUE(held(analyse(build.fabric), kRestricted));
}

TEST(FabricLinkRestricted, UndecidedWithoutWhatPortsCan) {
  Builder build = fat_tree();
  build.forget_support();
  EXPECT_EQ(gap(analyse(build.fabric), kRestricted), "what both ends of 64 of 64 cables can");
}

TEST(FabricLinkBelowPeers, FiresForOneUplinkOfATextWithoutSupport) {
  Builder build = fat_tree();
  build.set_rate(build.node("leaf-3"), 10, 4, LaneSpeedName::kEdr);
  build.forget_support();
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kPeers), 1U) << list(report);
  EXPECT_EQ(find(report, kPeers)->finding.title,
            "leaf-3 port 10 to spine-1 port 10 runs 100 Gb/s, 31 of 32 cables like it run 200 Gb/s");
}

TEST(FabricLinkBelowPeers, SilentForServersOfAnotherNameAndWhereSupportSaysEnough) {
  Builder build = fat_tree();
  build.plug(build.node("leaf-1"), 17, build.add_adapter("oss-1 mlx5_0", 1, LaneSpeedName::kEdr), 1);
  EXPECT_TRUE(held(analyse(build.fabric), kPeers));
  build.forget_support();
  const FabricReport report = analyse(build.fabric);
  EXPECT_TRUE(held(report, kPeers)) << list(report);
}

TEST(FabricLinkBelowPeers, UndecidedWithoutRates) {
  Builder build = fat_tree();
  build.forget_support();
  build.set_rate(build.node("leaf-3"), 10, 0, LaneSpeedName::kUnknown);
  EXPECT_EQ(gap(analyse(build.fabric), kPeers), "the rate of 1 cable");
}

TEST(FabricLinkEndsDiffer, Fires) {
  Builder build = fat_tree();
  build.port("leaf-1", 9).lanes = 2;
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kEnds), 1U) << list(report);
  EXPECT_EQ(find(report, kEnds)->finding.title,
            "leaf-1 port 9 to spine-1 port 1: one end says 2x HDR (100 Gb/s), the other 4x HDR (200 Gb/s)");
}

TEST(FabricLinkEndsDiffer, SilentOnAHealthyFabric) {
  EXPECT_TRUE(held(analyse(fat_tree().fabric), kEnds));
}

TEST(FabricLinkEndsDiffer, UndecidedWithoutRates) {
  Builder build;
  build.plug(build.add_adapter("a mlx5_0"), 1, build.add_adapter("b mlx5_0"), 1);
  build.set_rate(0, 1, 0, LaneSpeedName::kUnknown);
  EXPECT_EQ(gap(analyse(build.fabric), kEnds), "the rates that both ends of a cable report");
}

TEST(FabricLinkMtuDiffers, Fires) {
  Builder build = fat_tree();
  build.port("leaf-1", 9).mtu = 2048;
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kMtu), 1U) << list(report);
  EXPECT_EQ(find(report, kMtu)->finding.title,
            "leaf-1 port 9 to spine-1 port 1: path MTU 2048 bytes at one end, 4096 at the other");
}

TEST(FabricLinkMtuDiffers, SilentWhereBothEndsAgree) {
  Builder build = fat_tree();
  build.port("leaf-1", 9).mtu = build.port("spine-1", 1).mtu = 2048;
  EXPECT_TRUE(held(analyse(build.fabric), kMtu));
}

TEST(FabricLinkMtuDiffers, UndecidedWithoutMtu) {
  Builder build;
  build.plug(build.add_adapter("a mlx5_0"), 1, build.add_adapter("b mlx5_0"), 1);
  build.port("a mlx5_0", 1).mtu.reset();
  EXPECT_EQ(gap(analyse(build.fabric), kMtu), "the MTU of the ports");
}

// One host with two adapters of one model.
Builder two_adapters(LaneSpeedName second) {
  Builder build;
  const std::uint32_t leaf = build.add_switch("leaf", 8);
  build.plug(leaf, 1, build.add_adapter("gpu mlx5_0"), 1);
  build.plug(leaf, 2, build.add_adapter("gpu mlx5_1"), 1);
  build.set_rate(leaf, 2, 4, second);
  return build;
}

TEST(FabricHostSpeedsDiffer, FiresWithoutSupportKnown) {
  Builder build = two_adapters(LaneSpeedName::kEdr);
  build.forget_support();
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kHost), 1U) << list(report);
  EXPECT_EQ(find(report, kHost)->finding.title,
            "gpu mlx5_1 runs 100 Gb/s, gpu mlx5_0 of the same model in the same host 200 Gb/s");
}

TEST(FabricHostSpeedsDiffer, SilentForAnotherModelAndWherePortsSayWhatTheyCan) {
  Builder build = two_adapters(LaneSpeedName::kEdr);
  EXPECT_TRUE(held(analyse(build.fabric), kHost)) << "fabric.link.speed-reduced tells it";
  build.forget_support();
  build.fabric.nodes[build.node("gpu mlx5_1")].device = 0x1017;
  EXPECT_TRUE(held(analyse(build.fabric), kHost));
}

TEST(FabricHostSpeedsDiffer, UndecidedWithoutRates) {
  Builder build = two_adapters(LaneSpeedName::kUnknown);
  build.forget_support();
  EXPECT_EQ(gap(analyse(build.fabric), kHost), "the rate of 1 cable");
}

// iblinkinfo gives no device ids: a slower plane beside the one of the GPUs, or older switches beside newer
// ones.
TEST(FabricLinkBelowPeers, SilentForSwitchesOfAnotherPlaneOrModel) {
  Builder build = fat_tree();
  std::vector<std::uint32_t> old;
  for (int i = 1; i <= 2; ++i)
    old.push_back(build.add_switch(fmt::format("MF0;stor-{}:MQM8700/U1", i), 16, LaneSpeedName::kEdr));
  for (std::uint32_t port = 1; port <= 4; ++port)
    build.plug(old[0], port, old[1], port);
  const auto forget_devices = [](Builder& fabric) {
    fabric.forget_support();
    for (auto& node : fabric.fabric.nodes)
      node.device = 0;
  };
  Builder apart = build;
  forget_devices(apart);
  EXPECT_EQ(count(analyse(apart.fabric), kPeers), 0U) << list(analyse(apart.fabric));
  build.plug(old[0], 5, build.node("spine-1"), 17);
  build.plug(old[0], 6, build.add_adapter("oss-1 mlx5_0"), 1);
  forget_devices(build);
  EXPECT_EQ(count(analyse(build.fabric), kPeers), 0U) << list(analyse(build.fabric));
}

}  // namespace
}  // namespace angio::fabric::test
