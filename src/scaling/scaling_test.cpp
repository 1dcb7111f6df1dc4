#include "scaling/scaling.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/text.hpp"
#include "scaling/fit.hpp"

namespace angio::scaling {
namespace {

Series series_of(std::vector<Point> points, Measure measure = Measure::kThroughput) {
  Series series;
  series.device = "GPU";
  series.measure = measure;
  series.points = std::move(points);
  return series;
}

const Remark* find_remark(const Scaling& scaling, RemarkKind kind) {
  for (const Remark& remark : scaling.remarks)
    if (remark.kind == kind) return &remark;
  return nullptr;
}

TEST(Scaling, ThroughputAgainstTheSmallest) {
  const auto scaling = analyse(series_of({{8, {730}, {}}, {1, {100}, {}}, {4, {380}, {}}}), Mode::kStrong);
  ASSERT_TRUE(scaling.has_value());
  EXPECT_EQ(scaling->baseline, 1U);
  ASSERT_EQ(scaling->points.size(), 3U);
  EXPECT_DOUBLE_EQ(scaling->points[0].efficiency, 1);
  EXPECT_NEAR(scaling->points[2].speedup, 7.3, 1e-9);
  EXPECT_NEAR(scaling->points[2].efficiency, 0.9125, 1e-9);
  EXPECT_NEAR(*scaling->points[2].gained, (730.0 / 380 - 1) / 1, 1e-9);
  EXPECT_FALSE(scaling->points[2].range.has_value());
  EXPECT_NE(find_remark(*scaling, RemarkKind::kNoRepeats), nullptr);
}

TEST(Scaling, TimesReadByTheMode) {
  const Series series = series_of({{1, {10}, {}}, {4, {5}, {}}}, Measure::kTime);
  EXPECT_NEAR(analyse(series, Mode::kStrong)->points[1].efficiency, 0.5, 1e-9);
  EXPECT_NEAR(analyse(series, Mode::kWeak)->points[1].speedup, 8,
              1e-9);  // four times the work in half the time
  EXPECT_NE(find_remark(*analyse(series, Mode::kWeak), RemarkKind::kSuperLinear), nullptr);
}

TEST(Scaling, ThroughputOfOneDevice) {
  Series series = series_of({{128, {1058}, {}}, {512, {1007}, {}}});
  series.per_device = true;
  const auto scaling = analyse(series, Mode::kWeak);
  EXPECT_NEAR(scaling->points[1].efficiency, 1007.0 / 1058, 1e-9);
  EXPECT_NEAR(scaling->points[1].speedup, 4 * 1007.0 / 1058, 1e-9);
}

// "64 GPUs, 1.8 times": over what?
TEST(Scaling, ASpeedUpNeedsItsBaseline) {
  const Series series = series_of({{64, {1.8}, {}}}, Measure::kSpeedup);
  const auto none = analyse(series, Mode::kStrong);
  ASSERT_FALSE(none.has_value());
  EXPECT_TRUE(contains(none.error().hint, "--baseline N"));
  EXPECT_NEAR(analyse(series, Mode::kStrong, 1)->points[1].efficiency, 1.8 / 64, 1e-9);
  EXPECT_NEAR(analyse(series, Mode::kStrong, 32)->points[1].efficiency, 0.9, 1e-9);
  EXPECT_FALSE(analyse(series, Mode::kStrong, 64).has_value());
}

TEST(Scaling, ARowOfOneIsTheBaselineOfSpeedUps) {
  const Series series = series_of({{8, {1.0}, {}}, {64, {1.8}, {}}}, Measure::kSpeedup);
  EXPECT_EQ(analyse(series, Mode::kStrong)->baseline, 8U);
  EXPECT_NEAR(analyse(series, Mode::kStrong)->points[1].efficiency, 0.225, 1e-9);
  EXPECT_FALSE(analyse(series, Mode::kStrong, 1).has_value());
}

TEST(Scaling, RefusesWhatCannotBeCompared) {
  EXPECT_FALSE(analyse(series_of({}), Mode::kStrong).has_value());
  EXPECT_FALSE(analyse(series_of({{4, {100, 101}, {}}}), Mode::kStrong).has_value());
  EXPECT_FALSE(analyse(series_of({{1, {0}, {}}, {2, {1}, {}}}), Mode::kStrong).has_value());
  EXPECT_FALSE(analyse(series_of({{1, {-5}, {}}, {2, {1}, {}}}), Mode::kStrong).has_value());
  EXPECT_FALSE(analyse(series_of({{0, {5}, {}}, {2, {1}, {}}}), Mode::kStrong).has_value());
  EXPECT_FALSE(analyse(series_of({{1, {std::nan("")}, {}}, {2, {1}, {}}}), Mode::kStrong).has_value());
  const auto wrong = analyse(series_of({{1, {5}, {}}, {2, {9}, {}}}), Mode::kStrong, 4);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_TRUE(contains(wrong.error().hint, "1, 2"));
}

TEST(Scaling, RepeatsGiveIntervals) {
  const auto scaling = analyse(series_of({{1, {100, 101, 99}, {}}, {8, {640, 650, 645}, {}}}), Mode::kStrong);
  ASSERT_TRUE(scaling->points[1].range.has_value());
  EXPECT_LT(scaling->points[1].range->low, scaling->points[1].efficiency);
  EXPECT_GT(scaling->points[1].range->high, scaling->points[1].efficiency);
  EXPECT_GT(scaling->points[1].range->low, 0.78);
  EXPECT_LT(scaling->points[1].range->high, 0.84);
  EXPECT_NEAR(*scaling->noise, 0.009, 0.003);
  EXPECT_EQ(find_remark(*scaling, RemarkKind::kNoRepeats), nullptr);
}

TEST(Scaling, TheKneeAndHowCertainItIs) {
  const auto bare =
      analyse(series_of({{8, {100}, {}}, {16, {195}, {}}, {32, {370}, {}}, {64, {420}, {}}}), Mode::kStrong);
  ASSERT_TRUE(bare->knee.has_value());
  EXPECT_EQ(bare->knee->after, 32U);
  EXPECT_EQ(bare->knee->certainty, Certainty::kUnknown);
  const auto repeated = analyse(
      series_of({{8, {100, 101}, {}}, {16, {195, 196}, {}}, {32, {370, 373}, {}}, {64, {420, 418}, {}}}),
      Mode::kStrong);
  EXPECT_EQ(repeated->knee->certainty, Certainty::kClear);
  const auto noisy = analyse(
      series_of({{8, {100, 160}, {}}, {16, {195, 300}, {}}, {32, {370, 280}, {}}, {64, {420, 480}, {}}}),
      Mode::kStrong);
  EXPECT_NE(noisy->knee->certainty, Certainty::kClear);
  const auto even =
      analyse(series_of({{1, {100}, {}}, {2, {190}, {}}, {4, {350}, {}}, {8, {620}, {}}}), Mode::kStrong);
  EXPECT_FALSE(even->knee.has_value());
}

TEST(Scaling, ContradictionsAndSpreadAreNamed) {
  const auto scaling = analyse(series_of({{1, {100}, {2}}, {8, {700, 300}, {3, 7}}}), Mode::kStrong);
  const Remark* remark = find_remark(*scaling, RemarkKind::kContradictory);
  ASSERT_NE(remark, nullptr);
  EXPECT_TRUE(contains(remark->words, "lines 3 and 7"));
  const auto noisy = analyse(series_of({{1, {100}, {}}, {8, {700, 600, 500, 450}, {}}}), Mode::kStrong);
  EXPECT_EQ(find_remark(*noisy, RemarkKind::kContradictory), nullptr);
  EXPECT_NE(find_remark(*noisy, RemarkKind::kSpread), nullptr);
}

TEST(Scaling, SuperLinearIsSuspicious) {
  const auto scaling = analyse(series_of({{1, {100}, {}}, {8, {1000}, {}}}), Mode::kStrong);
  const Remark* remark = find_remark(*scaling, RemarkKind::kSuperLinear);
  ASSERT_NE(remark, nullptr);
  EXPECT_TRUE(contains(remark->words, "at 8 (up to 125 %)"));
  const auto within = analyse(series_of({{1, {100}, {}}, {8, {815}, {}}}), Mode::kStrong);
  EXPECT_EQ(find_remark(*within, RemarkKind::kSuperLinear), nullptr);
}

// ---- the fits, against what was put in

std::vector<Point> amdahl(double serial, std::initializer_list<std::uint32_t> counts, double wobble = 0) {
  std::vector<Point> points;
  double sign = 1;
  for (const std::uint32_t count : counts) {
    const double time = serial + (1 - serial) / count;
    points.push_back({count, {100 / time * (1 + sign * wobble)}, {}});
    sign = -sign;
  }
  return points;
}

TEST(ScalingFit, AmdahlFindsTheSerialShare) {
  for (const double serial : {0.0, 0.001, 0.03, 0.25, 0.8}) {
    const auto scaling = analyse(series_of(amdahl(serial, {1, 2, 4, 8, 16, 64})), Mode::kStrong);
    EXPECT_NEAR(scaling->split->serial, serial, 1e-5 + serial * 1e-4) << serial;
    EXPECT_TRUE(scaling->split->fits);
  }
  const auto noisy = analyse(series_of(amdahl(0.03, {1, 2, 4, 8, 16, 64}, 0.02)), Mode::kStrong);
  EXPECT_LT(noisy->split->range->low, 0.03);
  EXPECT_GT(noisy->split->range->high, 0.03);
  EXPECT_LT(noisy->split->range->high, 0.05);
  // From a larger baseline, too: the share is of its time.
  const auto nodes = analyse(series_of(amdahl(0.01, {8, 16, 32, 64})), Mode::kStrong);
  EXPECT_NEAR(nodes->split->serial, 0.01 / (0.01 + 0.99 / 8), 1e-4);
}

TEST(Scaling, RowsThatWereCopiedAreNoRepeats) {
  const auto copied = analyse(
      series_of({{8, {0.1, 0.1, 0.1}, {}}, {16, {0.17, 0.17, 0.17}, {}}, {32, {0.2}, {}}}), Mode::kStrong);
  EXPECT_FALSE(copied->noise);
  EXPECT_FALSE(copied->points[1].range);
  ASSERT_TRUE(copied->knee);
  EXPECT_EQ(copied->knee->certainty, Certainty::kUnknown);
  ASSERT_FALSE(copied->remarks.empty());
  EXPECT_TRUE(contains(copied->remarks.back().words, "equal to the last digit"));
}

TEST(ScalingFit, GustafsonFindsTheSerialShare) {
  std::vector<Point> points;
  for (const std::uint32_t count : {1U, 2U, 4U, 8U, 32U})
    points.push_back({count, {50 * (count - 0.12 * (count - 1))}, {}});
  const auto scaling = analyse(series_of(points), Mode::kWeak);
  EXPECT_NEAR(scaling->split->serial, 0.12, 1e-4);
}

TEST(ScalingFit, TwoPointsHaveNoInterval) {
  const auto scaling = analyse(series_of(amdahl(0.1, {1, 8})), Mode::kStrong);
  EXPECT_NEAR(scaling->split->serial, 0.1, 1e-4);
  EXPECT_FALSE(scaling->split->range.has_value());
  EXPECT_FALSE(scaling->growth.has_value());
  EXPECT_TRUE(contains(scaling->no_growth, "there are 2"));
}

TEST(ScalingFit, WhatIsNoAmdahlSaysSo) {
  const auto scaling =
      analyse(series_of({{1, {100}, {}}, {2, {200}, {}}, {4, {400}, {}}, {8, {300}, {}}, {16, {100}, {}}}),
              Mode::kStrong);
  EXPECT_FALSE(scaling->split->fits);
}

double share_of(const Growth& growth, Term term) {
  for (const GrowthTerm& one : growth.terms)
    if (one.term == term) return one.at_most;
  return 0;
}

TEST(ScalingFit, WeakGrowthFindsItsTerms) {
  std::vector<Point> linear;
  std::vector<Point> logarithmic;
  for (const std::uint32_t count : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
    linear.push_back({count, {1 + 0.01 * count}, {}});
    logarithmic.push_back({count, {1 + 0.1 * std::log2(count)}, {}});
  }
  const auto one = analyse(series_of(linear, Measure::kTime), Mode::kWeak);
  ASSERT_TRUE(one->growth.has_value());
  EXPECT_NEAR(share_of(*one->growth, Term::kLinear), 0.64 / 1.64, 0.02);
  EXPECT_NEAR(share_of(*one->growth, Term::kLogarithm), 0, 1e-9);
  const auto two = analyse(series_of(logarithmic, Measure::kTime), Mode::kWeak);
  EXPECT_NEAR(share_of(*two->growth, Term::kLogarithm), 0.6 / 1.6, 0.02);
  EXPECT_NEAR(share_of(*two->growth, Term::kLinear), 0, 1e-9);
}

TEST(ScalingFit, StrongGrowthTellsCommunicationFromSerialWork) {
  std::vector<Point> points;
  for (const std::uint32_t count : {1U, 2U, 4U, 8U, 16U, 32U, 64U})
    points.push_back({count, {10.0 / count + 0.05 * std::log2(count)}, {}});
  const auto scaling = analyse(series_of(points, Measure::kTime), Mode::kStrong);
  ASSERT_TRUE(scaling->growth.has_value());
  EXPECT_GT(share_of(*scaling->growth, Term::kLogarithm), 0.6);
  EXPECT_NEAR(share_of(*scaling->growth, Term::kPerDevice), 10.0 / 64 / (10.0 / 64 + 0.3), 0.02);
}

}  // namespace
}  // namespace angio::scaling
