#include <gtest/gtest.h>

#include "dryrun/compare.hpp"

namespace angio::dryrun {
namespace {

std::vector<std::string> labels(const std::vector<std::string>& vary) {
  const auto variants = parse_variants(vary);
  std::vector<std::string> found;
  if (!variants) return {"error: " + variants.error().message};
  for (const Variant& variant : *variants)
    found.push_back(variant.label);
  return found;
}
using Labels = std::vector<std::string>;

TEST(Variants, TheFirstIsAsGiven) {
  EXPECT_EQ(labels({}), Labels{"as given"});
  EXPECT_EQ(labels({"NCCL_ALGO=Ring,Tree"}), (Labels{"as given", "NCCL_ALGO=Ring", "NCCL_ALGO=Tree"}));
}

TEST(Variants, SeveralMakeTheirProduct) {
  EXPECT_EQ(labels({"NCCL_ALGO=Ring,Tree", "NCCL_PROTO=LL,Simple"}),
            (Labels{"as given", "NCCL_ALGO=Ring NCCL_PROTO=LL", "NCCL_ALGO=Ring NCCL_PROTO=Simple",
                    "NCCL_ALGO=Tree NCCL_PROTO=LL", "NCCL_ALGO=Tree NCCL_PROTO=Simple"}));
  const auto variants = parse_variants({"NCCL_ALGO=Ring", "NCCL_PROTO=LL"});
  ASSERT_TRUE(variants);
  EXPECT_EQ((*variants)[1].settings,
            (std::vector<std::pair<std::string, std::string>>{{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}}));
}

TEST(Variants, ABarPartsValuesThatHoldCommas) {
  EXPECT_EQ(labels({"NCCL_IB_HCA=mlx5_0,mlx5_1|=mlx5_2"}),
            (Labels{"as given", "NCCL_IB_HCA=mlx5_0,mlx5_1", "NCCL_IB_HCA==mlx5_2"}));
  EXPECT_EQ(labels({"NCCL_IB_HCA=mlx5_0,mlx5_1|"}), (Labels{"as given", "NCCL_IB_HCA=mlx5_0,mlx5_1"}));
  EXPECT_FALSE(parse_variants({"NCCL_IB_HCA=|"}));
  EXPECT_FALSE(parse_variants({"NCCL_IB_HCA=a||"}));
  EXPECT_EQ(labels({"NCCL_ALGO=allreduce:ring;allgather:ring|allreduce:tree"}).size(), 3U);
}

TEST(Variants, RefusesWhatCannotBeMeant) {
  for (const char* text : {"", "NCCL_ALGO", "=Ring", "9X=1", "A B=1", "NCCL_ALGO=", "NCCL_ALGO=Ring,,Tree",
                           "NCCL_ALGO=Ring,Ring"})
    EXPECT_FALSE(parse_variants({text})) << text;
  EXPECT_FALSE(parse_variants({"NCCL_ALGO=Ring", "NCCL_ALGO=Tree"}));
}

TEST(Variants, TheProductIsBounded) {
  std::string sixty = "A=1";
  for (int value = 2; value <= 63; ++value)
    sixty += "," + std::to_string(value);
  EXPECT_EQ(labels({sixty}).size(), kMostVariants);
  EXPECT_FALSE(parse_variants({sixty, "B=1,2"}));
  EXPECT_FALSE(parse_variants({sixty + ",64"}));
  EXPECT_FALSE(parse_variants(std::vector<std::string>{"A=1,2,3,4,5,6,7,8", "B=1,2,3,4,5,6,7,8"}));
}

}  // namespace
}  // namespace angio::dryrun
