// Reference values by scipy 1.17 (stats.t.ppf) and by exact counting of signed ranks.
#include "experiment/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace angio::experiment {
namespace {

constexpr double kConfidence = 0.95;
const std::vector<double> kTen{0.031, -0.004, 0.052, 0.017, 0.023, 0.041, 0.009, 0.036, 0.028, 0.012};

TEST(Statistics, MedianMeanDeviation) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_NEAR(mean(kTen), 0.0245, 1e-12);
  EXPECT_NEAR(standard_deviation(kTen), 0.016608230891137485, 1e-15);
  EXPECT_EQ(standard_deviation(std::vector<double>{1}), 0);
}

TEST(Statistics, QuantilesOfStudentsT) {
  EXPECT_NEAR(t_quantile(0.975, 1), 12.706204736174694, 1e-8);
  EXPECT_NEAR(t_quantile(0.975, 4), 2.7764451051977934, 1e-10);
  EXPECT_NEAR(t_quantile(0.975, 9), 2.262157162798205, 1e-10);
  EXPECT_NEAR(t_quantile(0.975, 99), 1.9842169515864174, 1e-10);
  EXPECT_NEAR(t_quantile(0.95, 29), 1.6991270265334972, 1e-10);
  EXPECT_NEAR(t_quantile(0.025, 9), -2.262157162798205, 1e-10);
  EXPECT_EQ(t_quantile(0.5, 3), 0);
  EXPECT_NEAR(t_quantile(0.975, 1e7), 1.959964, 1e-5);
}

TEST(Statistics, TInterval) {
  const auto interval = t_interval(kTen, kConfidence);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->estimate, 0.0245, 1e-12);
  EXPECT_NEAR(interval->low, 0.012619187336069477, 1e-10);
  EXPECT_NEAR(interval->high, 0.03638081266393053, 1e-10);
  EXPECT_FALSE(t_interval(std::vector<double>{1}, kConfidence));
}

TEST(Statistics, QuantilesOfSignedRanks) {
  const std::vector<std::pair<std::uint32_t, std::uint64_t>> known{
      {5, 0}, {6, 1}, {7, 3}, {8, 4}, {10, 9}, {12, 14}, {20, 53}, {30, 138}, {50, 435}, {100, 1956}};
  for (const auto& [count, rank] : known)
    EXPECT_EQ(signed_rank_quantile(0.025, count), rank) << count;
}

// Where counting gives way to the approximation, the two must meet.
TEST(Statistics, ApproximationOfSignedRanksMeetsTheCount) {
  const auto exact = static_cast<double>(signed_rank_quantile(0.025, 200));
  const auto approximate = static_cast<double>(signed_rank_quantile(0.025, 201));
  EXPECT_GT(approximate, exact);
  EXPECT_LT(approximate - exact, 120);
}

TEST(Statistics, SignedRankInterval) {
  const auto interval = signed_rank_interval(kTen, kConfidence);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->estimate, 0.024, 1e-12);
  EXPECT_NEAR(interval->low, 0.012, 1e-12);
  EXPECT_NEAR(interval->high, 0.036, 1e-12);
  EXPECT_FALSE(signed_rank_interval(std::vector<double>(5, 1.0), kConfidence));
}

TEST(Statistics, OneWildRunDoesNotMoveTheSignedRanks) {
  std::vector<double> values = kTen;
  values.push_back(5);
  const auto ranks = signed_rank_interval(values, kConfidence);
  ASSERT_TRUE(ranks);
  EXPECT_NEAR(ranks->estimate, 0.027, 0.005);
  EXPECT_LT(t_interval(values, kConfidence)->low, 0);  // the mean is lost
  EXPECT_GT(ranks->low, 0);
}

TEST(Statistics, NeededPairsAreTheLeast) {
  const std::uint32_t needed = needed_pairs(0.03, 0.01, kConfidence);
  const auto reach = [](std::uint32_t count) {
    return t_quantile(0.975, count - 1.0) * 0.03 / std::sqrt(static_cast<double>(count));
  };
  EXPECT_LE(reach(needed), 0.01);
  EXPECT_GT(reach(needed - 1), 0.01);
  EXPECT_EQ(needed, 38U);
  EXPECT_EQ(needed_pairs(0, 0.01, kConfidence), 2U);
  EXPECT_EQ(needed_pairs(1, 0, kConfidence), 1000000U);
}

}  // namespace
}  // namespace angio::experiment
