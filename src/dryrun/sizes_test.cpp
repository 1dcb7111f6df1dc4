#include "dryrun/sizes.hpp"

#include <gtest/gtest.h>

namespace angio::dryrun {
namespace {

using nccl_run::Collective;
using Sizes = std::vector<std::uint64_t>;

TEST(DryRunSizes, ListsAndUnits) {
  EXPECT_EQ(parse_sizes("1M,8,64K"), (Sizes{8, 64 << 10, 1 << 20}));
  EXPECT_EQ(parse_sizes("1g, 1GiB,1GB"), (Sizes{1ULL << 30}));
  EXPECT_EQ(parse_sizes("4096B"), (Sizes{4096}));
}

TEST(DryRunSizes, Ranges) {
  EXPECT_EQ(parse_sizes("8:64"), (Sizes{8, 16, 32, 64}));
  EXPECT_EQ(parse_sizes("1K:20K:4"), (Sizes{1 << 10, 4 << 10, 16 << 10}));
  EXPECT_EQ(parse_sizes("8:8"), (Sizes{8}));
  EXPECT_EQ(parse_sizes("8:32,1K"), (Sizes{8, 16, 32, 1024}));
  EXPECT_EQ(parse_sizes("8:8G:2")->size(), 31U);
}

TEST(DryRunSizes, SayWhatIsWrong) {
  EXPECT_EQ(parse_sizes("").error().message, "\"\" is no size");
  EXPECT_EQ(parse_sizes("8X").error().message, "\"8X\" is no size");
  EXPECT_EQ(parse_sizes("8,-1").error().message, "\"-1\" is no size");
  EXPECT_EQ(parse_sizes("0").error().message, "a size of 0 bytes");
  EXPECT_EQ(parse_sizes("1M:8").error().message, "1M is more than 8");
  EXPECT_EQ(parse_sizes("1:8:1").error().message, "the factor \"1\" is no number from 2 on");
  EXPECT_EQ(parse_sizes("1:2:3:4").error().message, "\"1:2:3:4\" is no range of sizes");
  EXPECT_EQ(parse_sizes("99999999999T").error().message, "\"99999999999T\" is more than 64 bits hold");
  EXPECT_NE(parse_sizes("8K\x1b").error().message.find("\\x1b"), std::string::npos);
}

TEST(DryRunSizes, NeverRunAwayNearTheLimits) {
  EXPECT_EQ(parse_sizes("1:16777215T:2")->size(), 64U);
  std::string many = "1";
  for (int size = 2; size <= 65; ++size)
    many += "," + std::to_string(size);
  EXPECT_EQ(parse_sizes(many).error().message, "more than 64 sizes: use a larger factor");
  EXPECT_EQ(parse_sizes("1:16777215T,3:16777215T").error().message,
            "more than 64 sizes: use a larger factor");
}

TEST(DryRunSizes, CollectivesInTheirOrderEachOnce) {
  EXPECT_EQ(parse_collectives("alltoall,AllReduce,all_reduce"),
            (std::vector<Collective>{Collective::kAllToAll, Collective::kAllReduce}));
  EXPECT_EQ(parse_collectives("all")->size(), 7U);
  EXPECT_FALSE(parse_collectives("allreduce,nonsense"));
  EXPECT_FALSE(parse_collectives(""));
}

TEST(DryRunSizes, OperationsGoThroughTheSizesOfEachCollective) {
  const auto operations = make_operations({Collective::kAllReduce, Collective::kBroadcast}, {8, 16});
  ASSERT_EQ(operations.size(), 4U);
  EXPECT_EQ(operations[1].collective, Collective::kAllReduce);
  EXPECT_EQ(operations[1].bytes, 16U);
  EXPECT_EQ(operations[2].collective, Collective::kBroadcast);
  EXPECT_EQ(operations[2].bytes, 8U);
}

}  // namespace
}  // namespace angio::dryrun
