#include "experiment/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace angio::experiment {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kResolve = 0.01;

ComparisonWish wish_of(std::uint32_t runs) {
  ComparisonWish wish;
  wish.arms = {Arm{"a", {"x"}}, Arm{"b", {"y"}}};
  wish.runs = runs;
  wish.order = Order::kAbba;
  return wish;
}

Comparison compared(const ComparisonWish& wish, const Runner& run) {
  const auto metric = Metric::make({});
  return compare(wish, *metric, run, [](std::size_t, std::size_t, const Arm&) {});
}

RunOutcome took(double seconds) {
  RunOutcome outcome;
  outcome.seconds = seconds;
  return outcome;
}

TEST(Order, WarmUpThenEveryPairHasBoth) {
  const auto order = order_of(wish_of(4));
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 0, 1, 1, 0, 1, 0, 0, 1}));
}

TEST(Order, RandomIsRepeatableAndBalanced) {
  ComparisonWish wish = wish_of(50);
  wish.order = Order::kRandom;
  wish.seed = 7;
  const auto order = order_of(wish);
  EXPECT_EQ(order, order_of(wish));
  EXPECT_EQ(std::ranges::count(order, 0U), std::ranges::count(order, 1U));
  wish.seed = 8;
  EXPECT_NE(order, order_of(wish));
}

TEST(Compare, WarmUpCountsForNothing) {
  std::uint32_t calls = 0;
  const Comparison result = compared(wish_of(6), [&](const Arm& arm) {
    ++calls;
    if (calls <= 2) return Result<RunOutcome>(took(100));
    return Result<RunOutcome>(took(arm.label == "a" ? 2.0 : 1.0));
  });
  EXPECT_EQ(calls, 14U);
  ASSERT_TRUE(result.verdict);
  EXPECT_DOUBLE_EQ(result.verdict->ratio.estimate, 0.5);
  EXPECT_DOUBLE_EQ(result.verdict->ratio.high, 0.5);
  EXPECT_TRUE(result.verdict->shown);
  EXPECT_FALSE(result.verdict->pairs_to_resolve);
  EXPECT_STREQ(result.verdict->method, "signed ranks of paired log ratios");
}

TEST(Compare, FewPairsFallBackToT) {
  double value = 1;
  const Comparison result =
      compared(wish_of(3), [&](const Arm&) { return Result<RunOutcome>(took(value += 0.1)); });
  ASSERT_TRUE(result.verdict);
  EXPECT_STREQ(result.verdict->method, "t interval of paired log ratios");
  EXPECT_FALSE(result.verdict->shown);
  ASSERT_TRUE(result.verdict->pairs_to_resolve);
  EXPECT_GT(*result.verdict->pairs_to_resolve, 3U);
}

TEST(Compare, AFailedRunStopsWithItsLastWords) {
  std::uint32_t calls = 0;
  const Comparison result = compared(wish_of(6), [&](const Arm&) {
    RunOutcome outcome = took(1);
    if (++calls == 5) {
      outcome.exit_code = 9;
      outcome.errors = "1\n2\n3\n4\n5\n\nlast \x1b[31m\n";
    }
    return Result<RunOutcome>(outcome);
  });
  EXPECT_EQ(calls, 5U);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->exit_code, 9);
  EXPECT_EQ(result.failure->run, 5U);
  EXPECT_EQ(result.failure->last_errors, "2\n3\n4\n5\nlast \\x1b[31m");
  EXPECT_EQ(result.records.size(), 4U);
  EXPECT_EQ(result.no_verdict, "1 pair finished: at least 2 are needed to know a spread");
}

TEST(Compare, AnInterruptKeepsWhatIsFinished) {
  std::uint32_t calls = 0;
  const Comparison result = compared(wish_of(10), [&](const Arm&) {
    RunOutcome outcome = took(1 + 0.01 * calls);
    outcome.interrupted = ++calls == 9;
    return Result<RunOutcome>(outcome);
  });
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.records.size(), 8U);
  ASSERT_TRUE(result.verdict);
  EXPECT_EQ(result.verdict->pairs, 3U);
}

TEST(Judge, ValuesWithoutARatio) {
  const auto verdict = judge({1, 0}, {1, 2}, kConfidence, kResolve);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().message, "a value of 0 has no ratio to another: the metric must be above 0");
  EXPECT_FALSE(judge({1, 1}, {1, std::nan("")}, kConfidence, kResolve));
}

// A machine whose speed drifts and whose noise hangs together from run to run.
class Drifting {
 public:
  explicit Drifting(std::uint64_t seed) : random_(seed) {}
  std::vector<double> run(const ComparisonWish& wish, double factor_of_b, std::vector<double>& b) {
    std::vector<double> a;
    double noise = 0;
    double time = 0;
    for (const std::uint32_t arm : order_of(wish)) {
      constexpr double kKept = 0.6;
      noise = kKept * noise + normal_(random_) * 0.01;
      time += 1;
      const double value = std::exp(noise + 0.002 * time) * (arm == 1 ? factor_of_b : 1);
      (arm == 1 ? b : a).push_back(value);
    }
    return a;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

double share_shown(double factor_of_b, std::uint32_t runs, int experiments) {
  int shown = 0;
  for (int each = 0; each < experiments; ++each) {
    ComparisonWish wish = wish_of(runs);
    wish.warm_up = 0;
    wish.order = Order::kRandom;
    wish.seed = static_cast<std::uint64_t>(each) + 100;
    std::vector<double> b;
    const std::vector<double> a = Drifting(static_cast<std::uint64_t>(each) + 1).run(wish, factor_of_b, b);
    if (judge(a, b, kConfidence, kResolve)->shown) ++shown;
  }
  return static_cast<double>(shown) / experiments;
}

// 5 % are promised; the bound adds two standard errors of so many experiments.
TEST(Judge, TwoOfTheSameAreRarelyCalledDifferentUnderDrift) {
  for (const std::uint32_t runs : {6U, 10U})
    EXPECT_LE(share_shown(1.0, runs, 2000), 0.05 + 2 * 0.0049) << runs;
}

TEST(Judge, TwoPercentAreSeen) {
  EXPECT_GE(share_shown(1.02, 12, 500), 0.9);
}

}  // namespace
}  // namespace angio::experiment
