#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fabric/test_fabrics.hpp"

namespace angio::fabric::test {
namespace {

std::string topology(const Fabric& fabric) {
  const auto text = render_slurm_topology(fabric, analyse(fabric));
  return text ? *text : "error: " + text.error().message;
}

TEST(SlurmTopology, AFatTreeHasLeavesAndOneTop) {
  EXPECT_EQ(topology(fat_tree().fabric),
            "# topology.conf of scan from mlx5_0 port 1 for topology/tree\n"
            "# as of 2026-03-01T10:00:00Z\n"
            "# switches above the leaves are drawn together: a tree has one parent, a fat tree many\n"
            "SwitchName=leaf-1 Nodes=gpu-[1-8]\n"
            "SwitchName=leaf-2 Nodes=gpu-[9-16]\n"
            "SwitchName=leaf-3 Nodes=gpu-[17-24]\n"
            "SwitchName=leaf-4 Nodes=gpu-[25-32]\n"
            "SwitchName=top Switches=leaf-[1-4]\n");
}

TEST(SlurmTopology, ARailFabricIsDrawnByOneRail) {
  EXPECT_EQ(topology(rail_tree().fabric),
            "# topology.conf of scan from mlx5_0 port 1 for topology/tree\n"
            "# as of 2026-03-01T10:00:00Z\n"
            "# 4 rails; a host of Slurm hangs off one leaf, so rail 0 stands for all of them:\n"
            "# hosts that share its leaf share the leaves of the other rails too.\n"
            "# switches above the leaves are drawn together: a tree has one parent, a fat tree many\n"
            "SwitchName=pod1-rail0 Nodes=gpu-[1-4]\n"
            "SwitchName=pod2-rail0 Nodes=gpu-[5-8]\n"
            "SwitchName=top Switches=pod1-rail0,pod2-rail0\n");
}

TEST(SlurmTopology, NamesBecomeLegalAndStayApart) {
  Builder build;
  const std::uint32_t one = build.add_switch("MF0;rack 1/leaf:MQM9700/U1", 8);
  const std::uint32_t two = build.add_switch("MF0;rack 1,leaf:MQM9700/U1", 8);
  const std::uint32_t spine = build.add_switch("Quantum Mellanox Technologies", 8);
  build.plug(one, 1, build.add_adapter("n01.example.com mlx5_0"), 1);
  build.plug(one, 2, build.add_adapter("n02.example.com mlx5_0"), 1);
  build.plug(two, 1, build.add_adapter("n10.example.com mlx5_0"), 1);
  build.plug(two, 2, build.add_adapter("MT4123 ConnectX6   Mellanox Technologies"), 1);
  build.plug(one, 8, spine, 1);
  build.plug(two, 8, spine, 2);
  const std::string text = topology(build.fabric);
  EXPECT_NE(text.find("SwitchName=rack-1-leaf Nodes=n[01-02]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("SwitchName=rack-1-leaf-100010 Nodes=n10\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# left out, no name that Slurm could use: host of 0x"), std::string::npos) << text;
  EXPECT_NE(text.find("# domains of host names are left out"), std::string::npos) << text;
}

TEST(SlurmTopology, OneSwitchNeedsNoTop) {
  Builder build;
  const std::uint32_t leaf = build.add_switch("leaf", 8);
  for (std::uint32_t h = 1; h <= 3; ++h)
    build.plug(leaf, h, build.add_adapter(fmt::format("n{} mlx5_0", h)), 1);
  EXPECT_NE(topology(build.fabric).find("SwitchName=leaf Nodes=n[1-3]\n"), std::string::npos);
  EXPECT_EQ(topology(build.fabric).find("Switches="), std::string::npos);
}

TEST(SlurmTopology, PaddedAndPlainNumbersStayAsTheyAre) {
  Builder build;
  const std::uint32_t leaf = build.add_switch("leaf", 20);
  std::uint32_t port = 0;
  for (const char* name : {"n9", "n10", "n12", "c08-x", "c09-x", "c10-x", "login"})
    build.plug(leaf, ++port, build.add_adapter(std::string(name) + " mlx5_0"), 1);
  EXPECT_NE(topology(build.fabric).find("Nodes=c[08-10]-x,n[9-10,12],login\n"), std::string::npos)
      << topology(build.fabric);
}

TEST(SlurmTopology, FailsWhereThereIsNoTree) {
  Builder build;
  build.plug(build.add_adapter("a mlx5_0"), 1, build.add_adapter("b mlx5_0"), 1);
  EXPECT_EQ(topology(build.fabric),
            "error: the fabric has no switch: there is no tree for Slurm to describe");
  EXPECT_EQ(topology({}), "error: the fabric is empty or was not analysed: there is no tree to describe");
}

}  // namespace
}  // namespace angio::fabric::test
