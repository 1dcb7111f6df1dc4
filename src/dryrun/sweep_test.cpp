#include <gtest/gtest.h>

#include "dryrun/compare.hpp"
#include "dryrun/compare_test_runs.hpp"

namespace angio::dryrun::test {
namespace {

DryRun run(std::string label, std::vector<model::DryRunOperation> operations) {
  DryRun one;
  one.label = std::move(label);
  one.operations = std::move(operations);
  return one;
}

TEST(SweepRows, JoinSizesOfOneChoice) {
  const auto rows =
      sweep_rows({run("as given", {operation(1024, "TREE", "LL", 8, 10), operation(8, "TREE", "LL", 8, 9),
                                   operation(4096, "RING", "LL", 8, 20)})});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].variant, "as given");
  EXPECT_EQ(rows[0].collective, "AllReduce");
  ASSERT_EQ(rows[0].ranges.size(), 2U);
  EXPECT_EQ(rows[0].ranges[0].from, 8U);
  EXPECT_EQ(rows[0].ranges[0].to, 1024U);
  EXPECT_EQ(rows[0].ranges[0].choice, "TREE LL, 8 channels");
  EXPECT_EQ(rows[0].ranges[0].best_ratio, 0);  // nothing to compare with
  EXPECT_EQ(rows[0].ranges[1].from, 4096U);
}

TEST(SweepRows, RatioIsOfTheBestOtherVariant) {
  const auto rows =
      sweep_rows({run("as given", {operation(8, "TREE", "LL", 8, 10), operation(16, "TREE", "LL", 8, 10)}),
                  run("B", {operation(8, "RING", "LL", 8, 20), operation(16, "RING", "LL", 8, 5)}),
                  run("C", {operation(8, "RING", "SIMPLE", 8, 40)})});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_DOUBLE_EQ(rows[0].ranges[0].best_ratio, 0.5);  // at 16 bytes B takes half the time
  EXPECT_DOUBLE_EQ(rows[1].ranges[0].best_ratio, 0.5);  // at 8 bytes "as given" does
  EXPECT_DOUBLE_EQ(rows[2].ranges[0].best_ratio, 0.25);
}

TEST(SweepRows, KeepsCollectivesApartAndSaysWhatWasNotReached) {
  model::DryRunOperation gather = operation(8, "RING", "LL", 4, 3);
  gather.collective = "AllGather";
  model::DryRunOperation lost = operation(16, "", "", 4, 3);
  lost.reached = false;
  const auto rows = sweep_rows({run("as given", {operation(8, "TREE", "LL", 8, 10), gather, lost})});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].collective, "AllReduce");
  ASSERT_EQ(rows[0].ranges.size(), 2U);
  EXPECT_EQ(rows[0].ranges[1].choice, "not reached");
  EXPECT_EQ(rows[1].collective, "AllGather");
  EXPECT_TRUE(sweep_rows({}).empty());
  EXPECT_TRUE(sweep_rows({DryRun{}}).empty());
}

}  // namespace
}  // namespace angio::dryrun::test
