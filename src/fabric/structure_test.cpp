// Hosts, planes, levels, shapes: healthy fabrics of every kind, told right and without an alarm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fabric/layout.hpp"
#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

using model::FabricReport;
using model::FabricShape;
using model::PlaneRole;

TEST(Hosts, NamesOfAdapters) {
  const auto name = [](const char* text) {
    const AdapterName read = read_adapter_name(text);
    return read.host + "/" + read.device;
  };
  EXPECT_EQ(name("gpu-a mlx5_0"), "gpu-a/mlx5_0");
  EXPECT_EQ(name("gpu-a HCA-1"), "gpu-a/HCA-1");
  EXPECT_EQ(name("RMD7 ibp11s0f0"), "RMD7/ibp11s0f0");
  EXPECT_EQ(name("gpu-a"), "gpu-a/");
  EXPECT_EQ(name("MT4123 ConnectX6   Mellanox Technologies"), "/");
  EXPECT_EQ(name("MT25408 ConnectX"), "/");
  EXPECT_EQ(name("localhost mlx5_0"), "/");
  EXPECT_EQ(name("mlx5_0"), "/");
  EXPECT_EQ(name(""), "/");
}

TEST(Hosts, StemsOfNamesThatWereNumberedAlike) {
  EXPECT_EQ(stem_of("gpu-12"), "gpu-#");
  EXPECT_EQ(stem_of("a08-p1-c01"), "a#-p#-c#");
  EXPECT_EQ(stem_of("login"), "login");
}

TEST(Hosts, AreJoinedByNameAndOrderedByTheNumberOfTheDevice) {
  Builder build;
  const std::uint32_t leaf = build.add_switch("leaf", 8);
  build.plug(leaf, 1, build.add_adapter("gpu mlx5_10"), 1);
  build.plug(leaf, 2, build.add_adapter("gpu mlx5_2"), 1);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(report.hosts.size(), 1U);
  EXPECT_EQ(report.hosts[0].name, "gpu");
  EXPECT_EQ(report.hosts[0].joined_by, "node description");
  EXPECT_EQ(report.hosts[0].adapters, (std::vector<std::uint32_t>{2, 1}));
}

TEST(Hosts, AreJoinedBySystemImageGuidWhereNothingNamesThem) {
  Builder build;
  const std::uint32_t leaf = build.add_switch("leaf", 8);
  for (std::uint32_t i = 1; i <= 2; ++i)
    build.plug(leaf, i, build.add_adapter("MT4123 ConnectX6   Mellanox Technologies"), 1);
  build.fabric.nodes[2].system_guid = build.fabric.nodes[1].system_guid;
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(report.hosts.size(), 1U);
  EXPECT_EQ(report.hosts[0].name, "host of 0x248a070300800010");
  EXPECT_EQ(report.hosts[0].joined_by, "system image GUID");
}

TEST(Hosts, TakeTheNameOfTheSnapshotWhoseGuidTheyHave) {
  Builder build;
  const std::uint32_t leaf = build.add_switch("leaf", 8);
  build.plug(leaf, 1, build.add_adapter("localhost mlx5_0"), 1);
  const std::vector<model::Machine> machines = {machine_with("node-7", "mlx5_3", "248a:0703:0080:0010")};
  const FabricReport report = analyse(build.fabric, {.machines = &machines});
  ASSERT_EQ(report.hosts.size(), 1U);
  EXPECT_EQ(report.hosts[0].name, "node-7");
  EXPECT_EQ(report.hosts[0].joined_by, "snapshot node-7");
  EXPECT_EQ(count(report, "fabric.node.unnamed"), 0U);
}

TEST(Shape, BackToBack) {
  Builder build;
  build.plug(build.add_adapter("a mlx5_0"), 1, build.add_adapter("b mlx5_0"), 1);
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(report.facts.shape, FabricShape::kDirect);
  EXPECT_EQ(report.facts.links, 1U);
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
  EXPECT_TRUE(report.facts.levels.empty());
}

TEST(Shape, OneSwitchWithUnusedPorts) {
  Builder build;
  const std::uint32_t leaf = build.add_switch("leaf", 40);
  for (std::uint32_t h = 1; h <= 5; ++h)
    build.plug(leaf, h, build.add_adapter(fmt::format("gpu-{} mlx5_0", h)), 1);
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(report.facts.shape, FabricShape::kSingleSwitch);
  EXPECT_EQ(report.facts.shape_why, "one switch");
  EXPECT_EQ(report.facts.ports_down, 35U);
  EXPECT_EQ(report.facts.ports_active, 10U);
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
}

TEST(Shape, TwoLevels) {
  const FabricReport report = analyse(fat_tree().fabric);
  EXPECT_EQ(report.facts.shape, FabricShape::kFatTree);
  EXPECT_EQ(report.facts.shape_why, "2 levels of switches");
  ASSERT_EQ(report.facts.levels.size(), 2U);
  EXPECT_EQ(report.facts.levels[0].switches.size(), 4U);
  EXPECT_EQ(report.facts.levels[0].links_down, 32U);
  EXPECT_EQ(report.facts.levels[0].links_up, 32U);
  EXPECT_DOUBLE_EQ(report.facts.levels[0].down.value, 32 * 200e9);
  EXPECT_DOUBLE_EQ(report.facts.levels[0].oversubscription.value_or(0), 1.0);
  EXPECT_FALSE(report.facts.levels[1].oversubscription);
  ASSERT_EQ(report.facts.link_rates.size(), 1U);
  EXPECT_EQ(report.facts.link_rates[0], (std::pair<std::string, std::uint32_t>("4x HDR (200 Gb/s)", 64)));
  EXPECT_EQ(report.hosts.size(), 32U);
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
  EXPECT_EQ(report.undecided.size(), 0U);
  EXPECT_TRUE(report.facts.has_counters);
}

// Pods of leaves and spines below cores.
Builder three_levels() {
  Builder build;
  std::vector<std::uint32_t> cores;
  for (std::uint32_t c = 0; c < 4; ++c)
    cores.push_back(build.add_switch(fmt::format("core-{}", c), 8));
  std::uint32_t host = 0;
  for (std::uint32_t p = 0; p < 4; ++p) {
    std::vector<std::uint32_t> spines;
    for (std::uint32_t s = 0; s < 2; ++s) {
      spines.push_back(build.add_switch(fmt::format("spine-{}-{}", p, s), 8));
      for (std::uint32_t c = 0; c < 2; ++c)
        for (std::uint32_t k = 0; k < 2; ++k)
          build.plug(spines[s], 5 + 2 * c + k, cores[2 * s + c], 1 + 2 * p + k);
    }
    for (std::uint32_t l = 0; l < 2; ++l) {
      const std::uint32_t leaf = build.add_switch(fmt::format("leaf-{}-{}", p, l), 8);
      for (std::uint32_t h = 0; h < 4; ++h)
        build.plug(leaf, 1 + h, build.add_adapter(fmt::format("gpu-{} mlx5_0", ++host)), 1);
      for (std::uint32_t s = 0; s < 2; ++s)
        for (std::uint32_t k = 0; k < 2; ++k)
          build.plug(leaf, 5 + 2 * s + k, spines[s], 1 + 2 * l + k);
    }
  }
  return build;
}

TEST(Shape, ThreeLevels) {
  const FabricReport report = analyse(three_levels().fabric);
  EXPECT_EQ(report.facts.shape, FabricShape::kFatTree);
  EXPECT_EQ(report.facts.shape_why, "3 levels of switches");
  ASSERT_EQ(report.facts.levels.size(), 3U);
  EXPECT_EQ(report.facts.levels[1].links_up, 32U);
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
}

TEST(Shape, ADirectorIsOneBox) {
  Builder build = fat_tree();
  for (auto& node : build.fabric.nodes)
    if (node.kind == FabricNodeKind::kSwitch) node.system_guid = 0x248a0703deadbeef;
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(report.facts.shape, FabricShape::kSingleSwitch);
  EXPECT_EQ(report.facts.shape_why, "6 chips of one box (the same system image GUID)");
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
}

TEST(Shape, ARingIsIrregular) {
  Builder build;
  std::vector<std::uint32_t> ring;
  for (std::uint32_t s = 0; s < 4; ++s) {
    ring.push_back(build.add_switch(fmt::format("sw-{}", s), 8));
    build.plug(ring[s], 1, build.add_adapter(fmt::format("gpu-{} mlx5_0", s)), 1);
  }
  for (std::uint32_t s = 0; s < 4; ++s)
    build.plug(ring[s], 2, ring[(s + 1) % 4], 3);
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(report.facts.shape, FabricShape::kIrregular);
  EXPECT_EQ(report.facts.shape_why, "4 of 4 cables between switches join two of the same level");
  EXPECT_EQ(alarms(report), 0U) << list(report);
}

TEST(Shape, AStrayHostOnASpineMakesItNoLeaf) {
  Builder build = fat_tree();
  build.plug(build.node("spine-1"), 17, build.add_adapter("ufm-1 mlx5_0"), 1);
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(report.facts.level_of[build.node("spine-1")], 2U);
  EXPECT_EQ(report.facts.shape, FabricShape::kFatTree) << report.facts.shape_why;
  EXPECT_EQ(alarms(report), 0U) << list(report);
}

TEST(Planes, RolesOnGroundsOnly) {
  Builder build = rail_tree();
  const std::uint32_t store = build.add_switch("store-sw", 20, LaneSpeedName::kEdr);
  for (std::uint32_t h = 1; h <= 8; ++h)
    build.plug(store, h, build.add_adapter(fmt::format("gpu-{} mlx5_9", h), 1, LaneSpeedName::kEdr), 1);
  for (std::uint32_t h = 1; h <= 2; ++h)
    build.plug(store, 10 + h, build.add_adapter(fmt::format("oss-{} mlx5_0", h), 1, LaneSpeedName::kEdr), 1);
  const FabricReport report = analyse(build.fabric);
  ASSERT_EQ(report.facts.planes.size(), 2U);
  EXPECT_EQ(report.facts.planes[0].role, PlaneRole::kCompute);
  EXPECT_EQ(report.facts.planes[1].role, PlaneRole::kStorage);
  EXPECT_EQ(report.facts.planes[1].why, "2 of 2 hosts that are on it alone are named so: oss-1, oss-2");
  EXPECT_EQ(report.findings.size(), 0U) << list(report);

  EXPECT_EQ(analyse(fat_tree().fabric).facts.planes[0].role, PlaneRole::kUnknown);
}

TEST(Hostile, PeersOutsideLoopsAndLiesAreNoCables) {
  Builder build = fat_tree();
  build.port("leaf-1", 17).peer = PortRef{999999, 3};
  build.port("leaf-1", 18).peer = PortRef{0, 4000000000U};
  build.port("leaf-2", 17).peer = build.ref(build.node("leaf-2"), 17);  // itself
  build.port("leaf-2", 18).peer = build.ref(build.node("leaf-3"), 1);   // which says something else
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(report.facts.links, 64U);
  EXPECT_EQ(alarms(report), 0U) << list(report);
}

TEST(Hostile, EmptyAndBareFabrics) {
  EXPECT_EQ(analyse({}).findings.size(), 0U);
  Fabric bare;
  bare.nodes.resize(3);
  const FabricReport report = analyse(bare);
  EXPECT_EQ(report.facts.shape, FabricShape::kUnknown);
  EXPECT_EQ(report.facts.planes.size(), 3U);
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
}

// Findings beyond a screenful are counted, none is lost.
TEST(Findings, ManyOfAKindAreFolded) {
  Builder build = fat_tree({.leaves = 20});
  for (std::uint32_t leaf = 1; leaf <= 20; ++leaf)
    for (std::uint32_t port = 1; port <= 4; ++port)
      build.set_rate(build.node(fmt::format("leaf-{}", leaf)), port, 1, LaneSpeedName::kHdr);
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(count(report, "fabric.link.width-reduced"), 32U);
  std::size_t ports = 0;
  for (const auto& each : report.findings)
    ports += each.ports.size();
  EXPECT_EQ(ports, 160U);
  EXPECT_EQ(report.findings[31].finding.title.find("49 more of the same") != std::string::npos ||
                list(report).find("49 more of the same") != std::string::npos,
            true);
}

TEST(Structure, ALeafWhoseHostsAreOffIsStillALeaf) {
  Builder build = fat_tree({.leaves = 6});
  for (std::uint32_t port = 1; port <= 8; ++port)
    build.unplug(build.node("leaf-5"), port);
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(report.facts.level_of[build.node("leaf-5")], 1U);
  EXPECT_EQ(report.facts.levels.size(), 2U);
  EXPECT_EQ(count(report, "fabric.level.oversubscribed"), 0U) << list(report);
}

TEST(Structure, ARouterIsNoLevelOfTheTree) {
  Builder build = fat_tree();
  const std::uint32_t router = build.add_switch("router", 2);
  build.fabric.nodes[router].kind = FabricNodeKind::kRouter;
  build.plug(build.node("spine-1"), 17, router, 1);
  const FabricReport report = analyse(build.fabric);
  EXPECT_EQ(report.facts.level_of[router], 0U);
  EXPECT_EQ(report.facts.levels.size(), 2U);
  EXPECT_EQ(report.facts.shape_why, "2 levels of switches");
  EXPECT_EQ(report.facts.routers, 1U);
  EXPECT_EQ(report.findings.size(), 0U) << list(report);
}

}  // namespace
}  // namespace angio::fabric::test
