#include "knowledge/nccl_topology.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace angio::knowledge {
namespace {

TEST(NcclTopologyFigures, FollowTheRelease) {
  EXPECT_DOUBLE_EQ(nccl_topology_value("nvlink-sm90", "2.19.3"), 20.0);
  EXPECT_DOUBLE_EQ(nccl_topology_value("nvlink-sm90", "2.20.3"), 20.6);
  EXPECT_DOUBLE_EQ(nccl_topology_value("cpu-amd", "2.17.1"), 16.0);
  EXPECT_DOUBLE_EQ(nccl_topology_value("cpu-amd", "2.18.3"), 5000.0);
  EXPECT_DOUBLE_EQ(nccl_topology_value("cpu-amd", "2.30.7"), 16.0);
  EXPECT_DOUBLE_EQ(nccl_topology_value("xml-children", "2.29.6"), 128);
  EXPECT_DOUBLE_EQ(nccl_topology_value("xml-children", "2.29.7"), 640);
}

TEST(NcclTopologyFigures, ListsKeepTheirOrder) {
  const auto speeds = nccl_topology_list("speeds-intra-sm90", "2.28.9");
  ASSERT_EQ(speeds.size(), 11U);
  EXPECT_DOUBLE_EQ(speeds.front(), 60.0);
  EXPECT_DOUBLE_EQ(speeds.back(), 3.0);
  EXPECT_EQ(nccl_topology_list("speeds-intra-sm100", "2.28.9").size(), 11U);
  EXPECT_EQ(nccl_topology_list("speeds-intra-sm100", "2.29.3").size(), 12U);
}

TEST(NcclTopologyFigures, NothingForWhatIsNotThere) {
  EXPECT_TRUE(std::isnan(nccl_topology_value("lane 128.0 GT/s PCIe", "2.30.7")));
  EXPECT_TRUE(nccl_topology_list("speeds-intra-sm90", "2.16.2").empty());
  EXPECT_EQ(find_nccl_topology("no such name", "2.30.7"), nullptr);
}

TEST(NcclTopologyFigures, KnowsItsOwnReleases) {
  EXPECT_EQ(newest_nccl_topology(), "2.30.7");
  EXPECT_EQ(checked_nccl_topology(), "2.28.9");
}

}  // namespace
}  // namespace angio::knowledge
