#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

using model::FabricReport;
using model::Severity;

constexpr const char* kConfigured = "fabric.port.not-configured";
constexpr const char* kTraining = "fabric.port.training";
constexpr const char* kDown = "fabric.port.down";
constexpr const char* kMissing = "fabric.host.adapter-missing";

void init(Builder& build, const std::string& leaf, std::uint32_t number) {
  build.port(leaf, number).state = PortState::kInit;
  build.port(*build.port(leaf, number).peer).state = PortState::kInit;
}

TEST(FabricPortNotConfigured, FiresOnceForBothEnds) {
  Builder build = fat_tree();
  init(build, "leaf-2", 1);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kConfigured), 1U) << list(report);
  EXPECT_EQ(find(report, kConfigured)->finding.severity, Severity::kWarning);
  EXPECT_EQ(find(report, kConfigured)->finding.title,
            "leaf-2 port 1 is linked, but Initialize: the subnet manager has not configured it");
  EXPECT_EQ(alarms(report), 1U) << list(report);
}

TEST(FabricPortNotConfigured, FiresOnceAsCriticalWhereNobodyManages) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    for (FabricPort& port : node.ports)
      if (port.peer) port.state = PortState::kInit;
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kConfigured), 1U) << list(report);
  EXPECT_EQ(find(report, kConfigured)->finding.severity, Severity::kCritical);
  EXPECT_EQ(find(report, kConfigured)->finding.title,
            "No subnet manager has configured this fabric: 128 ports are linked and wait");
}

TEST(FabricPortNotConfigured, SilentForUnusedPorts) {
  EXPECT_TRUE(held(analyse(fat_tree().fabric), kConfigured));
}

TEST(FabricPortNotConfigured, UndecidedWithoutStates) {
  Builder build = fat_tree();
  build.forget_states();
  EXPECT_EQ(gap(analyse(build.fabric), kConfigured), "the states of the ports");
}

TEST(FabricPortNotConfigured, SilentWhereNobodyAnswersBehindThePort) {
  Builder build = fat_tree();
  build.unplug(build.node("leaf-2"), 4);
  FabricPort& port = build.port("leaf-2", 4);
  port.state = PortState::kInit;
  port.physical_state = PortPhysicalState::kLinkUp;
  EXPECT_EQ(count(analyse(build.fabric), "fabric.port.not-configured"), 1U);
  port.trouble = "the node behind it gives no answer to NodeInfo in 3 tries";
  EXPECT_EQ(count(analyse(build.fabric), "fabric.port.not-configured"), 0U);
}

TEST(FabricPortTraining, Fires) {
  Builder build = fat_tree();
  build.port("leaf-1", 18).physical_state = PortPhysicalState::kTraining;
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kTraining), 1U) << list(report);
  EXPECT_EQ(find(report, kTraining)->finding.title,
            "leaf-1 port 18 is in PortConfigurationTraining: it has a partner and gets no stable link");
}

TEST(FabricPortTraining, SilentForPortsThatPoll) {
  EXPECT_TRUE(held(analyse(fat_tree().fabric), kTraining));
}

TEST(FabricPortTraining, UndecidedWithoutStates) {
  Builder build = fat_tree();
  build.forget_states();
  EXPECT_EQ(gap(analyse(build.fabric), kTraining), "the physical states of the ports");
}

// Hosts whose adapter has two ports, both cabled.
Builder dual_ports() {
  Builder build;
  const std::uint32_t leaf = build.add_switch("leaf", 20);
  for (std::uint32_t h = 0; h < 5; ++h) {
    const std::uint32_t adapter = build.add_adapter(fmt::format("gpu-{} mlx5_0", h + 1), 2);
    build.plug(leaf, 2 * h + 1, adapter, 1);
    build.plug(leaf, 2 * h + 2, adapter, 2);
  }
  return build;
}

TEST(FabricPortDown, FiresWhereSiblingsAreUp) {
  Builder build = dual_ports();
  build.unplug(build.node("gpu-3 mlx5_0"), 2);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kDown), 1U) << list(report);
  EXPECT_EQ(find(report, kDown)->finding.title,
            "gpu-3 mlx5_0 port 2 is down, the same port of 4 of 5 hosts like it is up");
  EXPECT_EQ(find(report, kDown)->finding.node, "gpu-3");
}

TEST(FabricPortDown, SilentWhereTheSecondPortIsUnusedOnAll) {
  Builder build = dual_ports();
  for (std::uint32_t h = 1; h <= 5; ++h)
    build.unplug(build.node(fmt::format("gpu-{} mlx5_0", h)), 2);
  const FabricReport report = analyse(build.fabric);
  EXPECT_TRUE(held(report, kDown)) << list(report);
  EXPECT_EQ(alarms(report), 0U) << list(report);
}

TEST(FabricPortDown, UndecidedWithoutStates) {
  Builder build = dual_ports();
  build.forget_states();
  EXPECT_EQ(gap(analyse(build.fabric), kDown), "the states of the ports");
}

TEST(FabricHostAdapterMissing, FiresAndNamesAdapterAndRail) {
  Builder build = rail_tree();
  build.unplug(build.node("gpu-6 mlx5_2"), 1);
  const std::uint32_t lost = build.node("gpu-6 mlx5_2");
  build.fabric.nodes[lost].kind = FabricNodeKind::kUnknown;  // not in the scan any more
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kMissing), 1U) << list(report);
  EXPECT_EQ(find(report, kMissing)->finding.title,
            "gpu-6 has 3 of the 4 adapters that hosts like it have: mlx5_2 missing");
  EXPECT_TRUE(has_evidence(*find(report, kMissing), "7 of 8 hosts named like it have mlx5_2, on rail 2"));
  EXPECT_EQ(alarms(report), 1U) << list(report);
}

TEST(FabricHostAdapterMissing, FiresThoughSomeHostsHaveAnotherAdapterForStorage) {
  Builder build = rail_tree();
  const std::uint32_t storage = build.add_switch("storage", 8);
  for (std::uint32_t h = 4; h <= 7; ++h)
    build.plug(storage, h, build.add_adapter(fmt::format("gpu-{} mlx5_9", h)), 1);
  build.unplug(build.node("gpu-6 mlx5_2"), 1);
  build.fabric.nodes[build.node("gpu-6 mlx5_2")].kind = FabricNodeKind::kUnknown;
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(count(report, kMissing), 1U) << list(report);
  EXPECT_EQ(find(report, kMissing)->finding.title,
            "gpu-6 has 3 of the 4 adapters that hosts like it have: mlx5_2 missing");
}

TEST(FabricHostAdapterMissing, UndecidedForATextThatIsCut) {
  Builder build = rail_tree();
  build.fabric.nodes[build.node("gpu-6 mlx5_2")].kind = FabricNodeKind::kUnknown;
  build.fabric.notes.push_back({"fabric.text-cut", "3 of 40 nodes have no block of their own", 1, ""});
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(alarms(report), 0U) << list(report);
  EXPECT_EQ(gap(report, kMissing), "whether hosts lack adapters: 3 of 40 nodes have no block of their own");
}

TEST(FabricHostAdapterMissing, SilentForServersOfAnotherKindAndOtherNames) {
  Builder build = rail_tree();
  build.plug(build.node("spine-1"), 1 + 15, build.add_adapter("oss-1 mlx5_0"), 1);
  EXPECT_TRUE(held(analyse(build.fabric), kMissing));
  Builder renamed = rail_tree();
  for (std::uint32_t r = 0; r < 4; ++r)
    renamed.fabric.nodes[renamed.node(fmt::format("gpu-2 mlx5_{}", r))].description =
        fmt::format("gpu-2 HCA-{}", r + 1);
  const FabricReport report = analyse(renamed.fabric);
  EXPECT_TRUE(held(report, kMissing)) << list(report);
}

TEST(FabricHostAdapterMissing, UndecidedWhereAnAdapterNamesNobody) {
  Builder build = rail_tree();
  build.fabric.nodes[build.node("gpu-6 mlx5_2")].description = "MT4129 ConnectX7   Mellanox Technologies";
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(count(report, kMissing), 0U) << list(report);
  EXPECT_EQ(gap(report, kMissing), "whether gpu-6 lacks mlx5_2: 1 adapter without a host's name may be it");
}

TEST(FabricHostAdapterMissing, UndecidedWhereNothingNamesAHost) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    if (node.kind == FabricNodeKind::kAdapter) node.description = "MT4123 ConnectX6   Mellanox Technologies";
  EXPECT_EQ(gap(analyse(build.fabric), kMissing),
            "which adapters are one host: no node description names one");
}

}  // namespace
}  // namespace angio::fabric::test
