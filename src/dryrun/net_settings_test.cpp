#include "dryrun/net_settings.hpp"

#include <gtest/gtest.h>

namespace angio::dryrun {
namespace {

NodeDesign four_adapters() {
  NodeDesign design;
  for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_10", "mlx5_bond_0"}) {
    phantom::Net net;
    net.name = name;
    design.hardware.nets.push_back(net);
  }
  return design;
}

std::vector<std::string> taken(const std::string& value) {
  NodeDesign design = four_adapters();
  take_adapters({{"NCCL_IB_HCA", value}}, design);
  std::vector<std::string> names;
  for (const phantom::Net& net : design.hardware.nets)
    names.push_back(net.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(NetSettings, HcaListsAreReadAsNcclReadsThem) {
  EXPECT_EQ(taken("mlx5_1"), (Names{"mlx5_1", "mlx5_10"}));
  EXPECT_EQ(taken("=mlx5_1"), (Names{"mlx5_1"}));
  EXPECT_EQ(taken("^mlx5_bond"), (Names{"mlx5_0", "mlx5_1", "mlx5_10"}));
  EXPECT_EQ(taken("=mlx5_0:2,mlx5_1:1"), (Names{"mlx5_1"}));
  EXPECT_EQ(taken("").size(), 4U);
}

TEST(NetSettings, WhatIsLeftOutIsSaid) {
  NodeDesign design = four_adapters();
  take_adapters({{"NCCL_IB_HCA", "=mlx5_0"}}, design);
  ASSERT_EQ(design.notes.size(), 1U);
  EXPECT_EQ(design.notes[0], "NCCL_IB_HCA==mlx5_0 leaves out mlx5_1, mlx5_10, mlx5_bond_0");
}

TEST(NetSettings, SocketsAreWantedInTwoWays) {
  EXPECT_TRUE(wants_sockets({{"NCCL_IB_DISABLE", "1"}}));
  EXPECT_FALSE(wants_sockets({{"NCCL_IB_DISABLE", "0"}}));
  EXPECT_TRUE(wants_sockets({{"NCCL_NET", "Socket"}}));
  EXPECT_FALSE(wants_sockets({{"NCCL_NET", "IB"}}));
}

}  // namespace
}  // namespace angio::dryrun
