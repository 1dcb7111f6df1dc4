#include <gtest/gtest.h>

#include "dryrun/node_design.hpp"

namespace angio::dryrun {
namespace {

TEST(NodeChange, ReadsEveryKind) {
  const auto change = parse_node_change(
      "1:without=mlx5_3,gpu:5;order=0,2,1;ranks=2;slow=mlx5_0:100,mlx5_1:50;NCCL_IB_HCA=mlx5_0,mlx5_1");
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->node, 1U);
  EXPECT_EQ(change->without, (std::vector<std::string>{"mlx5_3", "gpu:5"}));
  EXPECT_EQ(change->order, (std::vector<std::uint32_t>{0, 2, 1}));
  EXPECT_EQ(change->ranks, 2U);
  ASSERT_EQ(change->speed.size(), 2U);
  EXPECT_EQ(change->speed[1], (std::pair<std::string, std::uint32_t>{"mlx5_1", 50}));
  ASSERT_EQ(change->environment.size(), 1U);
  EXPECT_EQ(change->environment[0].first, "NCCL_IB_HCA");
  EXPECT_EQ(change->environment[0].second, "mlx5_0,mlx5_1");
}

TEST(NodeChange, ValuesOfVariablesStayAsTheyAre) {
  const auto change = parse_node_change("0:NCCL_ALGO=allreduce:tree,ring;NCCL_X=;NCCL_Y=a=b");
  ASSERT_TRUE(change);
  ASSERT_EQ(change->environment.size(), 3U);
  EXPECT_EQ(change->environment[0].second, "allreduce:tree,ring");
  EXPECT_EQ(change->environment[1].second, "");
  EXPECT_EQ(change->environment[2].second, "a=b");
}

std::string error_of(std::string_view text) {
  const auto change = parse_node_change(text);
  return change ? "no error" : change.error().message;
}

TEST(NodeChange, SaysWhatIsWrong) {
  EXPECT_EQ(error_of(""), "\"\" does not begin with the number of a node");
  EXPECT_EQ(error_of("without=mlx5_0"), "\"without=mlx5_0\" does not begin with the number of a node");
  EXPECT_EQ(error_of("-1:ranks=1"), "\"-1:ranks=1\" does not begin with the number of a node");
  EXPECT_EQ(error_of("1:"), "\"\" has no '='");
  EXPECT_EQ(error_of("1:without"), "\"without\" has no '='");
  EXPECT_EQ(error_of("1:witout=mlx5_0"),
            "\"witout\" is nothing that a node can differ in; did you mean without?");
  EXPECT_EQ(error_of("1:nccl_debug=INFO"), "\"nccl_debug\" is nothing that a node can differ in");
  EXPECT_EQ(error_of("1:without="), "without= names nothing");
  EXPECT_EQ(error_of("1:without=gpu:x"), "\"gpu:x\" is no GPU");
  EXPECT_EQ(error_of("1:order=0,x"), "order: \"x\" is no CUDA device");
  EXPECT_EQ(error_of("1:order=0,1,0"), "order: device 0 stands twice");
  EXPECT_EQ(error_of("1:ranks=0"), "ranks: \"0\" is no number of ranks");
  EXPECT_EQ(error_of("1:slow=mlx5_0"), "slow: \"mlx5_0\" is not NIC:SPEED");
  EXPECT_EQ(error_of("1:slow=mlx5_0:fast"), "slow: \"fast\" is no speed in Gb/s");
  EXPECT_EQ(error_of("1:slow=mlx5_0:9999999"), "slow: \"9999999\" is no speed in Gb/s");
  EXPECT_NE(error_of("1:\x1b[31m=1").find("\\x1b"), std::string::npos);
}

}  // namespace
}  // namespace angio::dryrun
