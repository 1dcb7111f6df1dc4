#include "knowledge/knowledge.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace angio::knowledge {
namespace {

TEST(Knowledge, PcieRatesAreThePublishedOnes) {
  EXPECT_NEAR(pcie_rate({{8e9}, 16})->value, 15.754e9, 1e6);
  EXPECT_NEAR(pcie_rate({{16e9}, 16})->value, 31.508e9, 1e6);
  EXPECT_NEAR(pcie_rate({{32e9}, 16})->value, 63.015e9, 1e6);
  EXPECT_NEAR(pcie_rate({{2.5e9}, 1})->value, 250e6, 1);
  EXPECT_FALSE(pcie_rate({{3e9}, 16}));
  EXPECT_FALSE(pcie_rate({{16e9}, 0}));
}

TEST(Knowledge, GenerationsBothWays) {
  EXPECT_EQ(pcie_generation({16e9}), 4U);
  EXPECT_EQ(pcie_speed(5)->value, 32e9);
  EXPECT_FALSE(pcie_generation({7e9}));
  EXPECT_FALSE(pcie_speed(9));
}

TEST(Knowledge, NvLinkIsOneLinkOneDirection) {
  EXPECT_EQ(nvlink_rate(4)->value * 18, 450e9);
  EXPECT_EQ(nvlink_rate(5)->value * 18, 900e9);
  EXPECT_FALSE(nvlink_rate(0));
}

TEST(Knowledge, InfiniBandLanes) {
  EXPECT_EQ(lane_rate("NDR")->value * 4, 400e9);
  EXPECT_EQ(lane_rate("FDR10")->value * 4, 40e9);
  EXPECT_FALSE(lane_rate("NDR200"));
}

TEST(Knowledge, TheLongestGpuNameWins) {
  EXPECT_EQ(find_gpu("NVIDIA H100 80GB HBM3")->nvlinks, 18U);
  EXPECT_EQ(find_gpu("NVIDIA H100 PCIe")->nvlinks, 12U);
  EXPECT_TRUE(find_gpu("NVIDIA H100 PCIe")->nvlink_optional);
  EXPECT_EQ(find_gpu("NVIDIA A100-SXM4-40GB")->match, "A100-SXM");
  EXPECT_EQ(find_gpu("NVIDIA A10G")->nvlinks, 0U);
  EXPECT_EQ(find_gpu("NVIDIA GH200 120GB")->match, "GH200");
  EXPECT_TRUE(find_gpu("NVIDIA GB200")->c2c);
  EXPECT_EQ(find_gpu("NVIDIA H200")->match, "H200");
  EXPECT_EQ(find_gpu("NVIDIA H20")->match, "H20");
  EXPECT_EQ(find_gpu("NVIDIA L40S")->match, "NVIDIA L40");
  EXPECT_EQ(find_gpu("NVIDIA A2")->pcie_width, 8U);
  EXPECT_EQ(find_gpu("NVIDIA GeForce RTX 4060 Ti")->pcie_width, 8U);
  EXPECT_EQ(find_gpu("Some GPU"), nullptr);
}

TEST(Knowledge, VersionsCompareByNumber) {
  EXPECT_EQ(compare_versions("2.9.9", "2.10.3"), -1);
  EXPECT_EQ(compare_versions("2.30", "2.30.0"), 0);
  EXPECT_EQ(compare_versions("570.86.15", "525"), 1);
  EXPECT_FALSE(compare_versions("2.30rc1", "2.30"));
  EXPECT_FALSE(compare_versions("", "2.30"));
}

TEST(Knowledge, AnNcclFactHoldsInItsRange) {
  const NcclFact& fact = *find_nccl_fact("thread-mask");
  EXPECT_TRUE(holds(fact, "2.29.2"));
  EXPECT_TRUE(holds(fact, "2.29.7"));
  EXPECT_FALSE(holds(fact, "2.30.3"));
  EXPECT_FALSE(holds(fact, "2.28.9"));
  EXPECT_FALSE(holds(fact, ""));
}

TEST(Knowledge, AnUnknownThresholdComparesWithNothing) {
  EXPECT_TRUE(std::isnan(threshold("no.such")));
  EXPECT_FALSE(threshold("pcie.replays") < 1);
}

TEST(Knowledge, EachEntryNamesItsSource) {
  for (const RuleText& rule : rules())
    EXPECT_FALSE(rule.sources.empty()) << rule.id;
  for (const Threshold& row : thresholds())
    EXPECT_FALSE(row.source.empty()) << row.id;
  for (const GpuModel& row : gpu_models())
    EXPECT_FALSE(row.source.empty()) << row.match;
}

}  // namespace
}  // namespace angio::knowledge
