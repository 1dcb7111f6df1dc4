#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

using diagnose::changes;
using diagnose::group_nodes;
using diagnose::traits_of;

TEST(Comparison, LikeNodesAreOneGroupWhateverTheirNamesAndSerials) {
  Machine b = dgx_h100("gpu-b");
  set(b.gpus[0].serial, std::string("999"));
  set(b.gpus[0].uuid, std::string("GPU-zzz"));
  set(b.gpus[0].memory_used, Bytes{12345});
  set(b.gpus[2].pcie_generation, 1U);  // idle
  set(b.numa.nodes[0].memory_free, Bytes{1});
  set(b.rdma[0].node_guid, std::string("ffff"));
  set(b.software.kernel_command_line, std::string("BOOT_IMAGE=/other iommu=pt root=UUID=1-2-3"));
  const auto groups = group_nodes({traits_of(dgx_h100("gpu-a")), traits_of(b)});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].nodes, (std::vector<std::string>{"gpu-a", "gpu-b"}));
  EXPECT_TRUE(groups[0].differences.empty());
}

TEST(Comparison, TheOddOneOutComesLastWithItsDifferences) {
  Machine odd = dgx_h100("gpu-c");
  set(odd.gpus[5].pcie_width, 8U);
  set(odd.software.nvidia_loaded, std::string("515.65.01"));
  const auto groups =
      group_nodes({traits_of(odd), traits_of(dgx_h100("gpu-a")), traits_of(dgx_h100("gpu-b"))});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].nodes, (std::vector<std::string>{"gpu-a", "gpu-b"}));
  EXPECT_EQ(groups[1].nodes, std::vector<std::string>{"gpu-c"});
  ASSERT_EQ(groups[1].differences.size(), 2U);
  EXPECT_EQ(groups[1].differences[0].trait, "GPU 5 PCIe lanes");
  EXPECT_EQ(groups[1].differences[1].trait, "NVIDIA driver");
  EXPECT_EQ(groups[1].differences[1].here, "515.65.01");
  EXPECT_EQ(groups[1].differences[1].majority, "570.86.15");
}

TEST(Comparison, AModuleMissingOnOneNodeIsADifference) {
  Machine odd = dgx_h100("gpu-c");
  set(odd.software.modules, std::vector<std::string>{"nvidia"});
  const auto groups = group_nodes({traits_of(dgx_h100("gpu-a")), traits_of(odd)});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_TRUE(std::ranges::any_of(groups[1].differences, [](const auto& difference) {
    return difference.trait == "module nvidia_peermem" && difference.here == "not loaded" &&
           difference.majority == "loaded";
  }));
}

TEST(Comparison, WhatOneNodeCouldNotReadIsNoDifference) {
  Machine blind = dgx_h100("gpu-b");
  for (Gpu& gpu : blind.gpus)
    deny(gpu.ecc);
  deny(blind.software.bios_version);
  EXPECT_EQ(group_nodes({traits_of(dgx_h100("gpu-a")), traits_of(blind)}).size(), 1U);
  EXPECT_EQ(group_nodes({traits_of(blind), traits_of(dgx_h100("gpu-a"))}).size(), 1U);
}

TEST(Comparison, AThousandNodesAreGrouped) {
  std::vector<diagnose::Traits> nodes;
  const diagnose::Traits sample = traits_of(dgx_h100());
  for (int i = 0; i < 1000; ++i) {
    nodes.push_back(sample);
    nodes.back().node = "n" + std::to_string(i);
  }
  const auto groups = group_nodes(nodes);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].nodes.size(), 1000U);
}

TEST(Comparison, AThousandNodesOfWhichNoTwoAreAlike) {
  std::vector<diagnose::Traits> nodes;
  const diagnose::Traits sample = traits_of(dgx_h100());
  for (int i = 0; i < 1000; ++i) {
    nodes.push_back(sample);
    nodes.back().node = "n" + std::to_string(i);
    nodes.back().values.back().second = std::to_string(i);  // the last trait, so that all others are compared
  }
  const auto groups = group_nodes(nodes);
  ASSERT_EQ(groups.size(), 1000U);
  ASSERT_EQ(groups[999].differences.size(), 1U);
  EXPECT_EQ(groups[999].differences[0].trait, sample.values.back().first);
  EXPECT_EQ(groups[999].differences[0].here, "999");
  EXPECT_EQ(groups[999].differences[0].majority, "0");
}

TEST(Comparison, ATraitThatComesAndGoesIsNoDifference) {
  Machine forced = dgx_roce("gpu-b");
  rdma_host(forced).devices[0].traffic_class = known(106U, "tc/1/traffic_class");
  const auto groups = group_nodes({traits_of(dgx_roce("gpu-a")), traits_of(forced)});
  EXPECT_EQ(groups.size(), 1U);
}

TEST(Comparison, GidsAreComparedByWhatTheyMean) {
  Machine other = dgx_roce("gpu-b", 9);  // other addresses
  EXPECT_EQ(group_nodes({traits_of(dgx_roce("gpu-a")), traits_of(other)}).size(), 1U);
  other.rdma[0].ports[0].gids[3].type = known<std::string>("IB/RoCE v1", "types");
  const auto groups = group_nodes({traits_of(dgx_roce("gpu-a")), traits_of(other)});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].differences.at(0).trait, "mlx5_0 port 1 GIDs");
  EXPECT_EQ(groups[1].differences.at(0).here, "0 v1 link-local; 1 v2 link-local; 2 v1 IPv4; 3 v1 IPv4");
}

TEST(Comparison, ChangesAgainstTheEarlierSelf) {
  Machine now = dgx_h100();
  now.gpus.pop_back();
  const auto found = changes(traits_of(dgx_h100()), traits_of(now));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].trait, "GPUs");
  EXPECT_EQ(found[0].here, "7");
  EXPECT_EQ(found[0].majority, "8");
}

}  // namespace
}  // namespace angio::test
