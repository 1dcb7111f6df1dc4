#include "experiment/campaign.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "experiment/tune_ledger.hpp"
#include "experiment/tune_verdict.hpp"

namespace angio::experiment {
namespace {

CampaignWish wish_of(std::size_t arms) {
  CampaignWish wish;
  for (std::size_t arm = 0; arm < arms; ++arm)
    wish.arms.push_back("setting " + std::to_string(arm));
  wish.seed = 5;
  wish.most_runs = 200;
  return wish;
}

RunResult good(double value) {
  RunResult result;
  result.seconds = 2;
  result.value = value;
  return result;
}

RunResult bad() {
  RunResult result;
  result.seconds = 1;
  result.exit_code = 9;
  result.failure = "exit code 9";
  result.last_lines = "out of memory";
  return result;
}

// A little noise that no two runs share.
double noise(std::uint32_t number) {
  return 1 + 0.002 * std::sin(number * 12.9898);
}

Campaign with_values(CampaignWish wish, const std::vector<double>& values) {
  Campaign campaign(std::move(wish));
  while (const auto plan = campaign.next())
    campaign.add(good(values[plan->arm] * noise(plan->number)));
  return campaign;
}

TEST(Campaign, EachBlockHoldsEachSettingOnceInItsOwnOrder) {
  CampaignWish wish = wish_of(4);
  wish.worthwhile = 1e-6;  // nothing is decided by chance
  Campaign campaign(wish);
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint32_t block = 1; block <= 20; ++block) {
    std::vector<std::uint32_t> order;
    for (int each = 0; each < 4; ++each) {
      const auto plan = campaign.next();
      ASSERT_TRUE(plan);
      EXPECT_EQ(plan->block, block);
      EXPECT_EQ(plan->warm_up, block == 1);
      order.push_back(plan->arm);
      campaign.add(good(100 * noise(plan->number)));
    }
    EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.end()).size(), 4U);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 10U);
}

TEST(Campaign, ClearOnesLeaveEarlyAndLowerIsBetterWhereSaid) {
  CampaignWish wish = wish_of(3);
  wish.better = Better::kLower;
  const Campaign campaign = with_values(wish, {10, 8, 12});
  EXPECT_EQ(campaign.end(), CampaignEnd::kDecided);
  EXPECT_EQ(campaign.arms()[1].state, ArmState::kBetter);
  EXPECT_EQ(campaign.arms()[2].state, ArmState::kWorse);
  EXPECT_LT(campaign.runs().size(), 40U);
  const TuneVerdict verdict = judge_campaign(campaign);
  EXPECT_EQ(verdict.kept, 1U);
  EXPECT_NEAR(verdict.arms[1].gain.value_or(0), 0.25, 0.01);
  ASSERT_TRUE(verdict.arms[1].gain_between);
  EXPECT_LT(verdict.arms[1].gain_between->low, 0.25);
  EXPECT_GT(verdict.arms[1].gain_between->high, 0.25);
}

TEST(Campaign, BudgetsEndItAtABlock) {
  CampaignWish wish = wish_of(2);
  wish.most_runs = 9;
  EXPECT_EQ(with_values(wish, {10, 10.5}).runs().size(), 8U);
  wish.most_runs = 1000;
  wish.most_seconds = 13;
  const Campaign timed = with_values(wish, {10, 10.0001});
  EXPECT_EQ(timed.end(), CampaignEnd::kTimeSpent);
  EXPECT_EQ(timed.runs().size(), 8U);  // 2 s each: begun before 13 s
}

TEST(Campaign, FailedSettingLeavesAndTheOthersGoOn) {
  Campaign campaign(wish_of(3));
  while (const auto plan = campaign.next())
    campaign.add(plan->arm == 2 ? bad() : good((plan->arm == 1 ? 120 : 100) * noise(plan->number)));
  EXPECT_EQ(campaign.arms()[2].state, ArmState::kFailed);
  EXPECT_EQ(campaign.arms()[2].failures, 2U);
  EXPECT_EQ(campaign.arms()[1].state, ArmState::kBetter);
  EXPECT_EQ(judge_campaign(campaign).ranking, (std::vector<std::uint32_t>{1, 2}));
}

TEST(Campaign, OneFailureIsEnoughNotToBeKept) {
  Campaign campaign(wish_of(2));
  bool failed = false;
  while (const auto plan = campaign.next()) {
    const bool now = plan->arm == 1 && plan->block == 3 && !failed;
    failed = failed || now;
    campaign.add(now ? bad() : good((plan->arm == 1 ? 120 : 100) * noise(plan->number)));
  }
  const TuneVerdict verdict = judge_campaign(campaign);
  EXPECT_EQ(verdict.arms[1].state, ArmState::kBetter);
  EXPECT_EQ(verdict.kept, 0U);
  EXPECT_EQ(verdict.arms[1].objection, "1 of its runs failed");
}

TEST(Campaign, BaselineThatFailsEndsIt) {
  Campaign campaign(wish_of(2));
  while (const auto plan = campaign.next())
    campaign.add(plan->arm == 0 ? bad() : good(100));
  EXPECT_EQ(campaign.end(), CampaignEnd::kNoBaseline);
  EXPECT_LE(campaign.runs().size(), 6U);
}

TEST(Campaign, FigureThatHasNoRatioIsAFailure) {
  Campaign campaign(wish_of(2));
  while (const auto plan = campaign.next())
    campaign.add(good(plan->arm == 1 ? 0 : 100));
  EXPECT_EQ(campaign.arms()[1].state, ArmState::kFailed);
}

TEST(Campaign, WatchedFiguresForbid) {
  CampaignWish wish = wish_of(3);
  wish.watches = {{"memory", "GiB", Better::kLower, 80, {}}, {"batch", "", Better::kHigher, {}, 0.05}};
  Campaign campaign(wish);
  while (const auto plan = campaign.next()) {
    RunResult result = good((100 + 20 * plan->arm) * noise(plan->number));
    result.watches = {plan->arm == 2 ? 85.0 : 60.0, plan->arm == 1 ? 30.0 : 32.0};
    campaign.add(std::move(result));
  }
  const TuneVerdict verdict = judge_campaign(campaign);
  EXPECT_EQ(verdict.kept, 0U);
  EXPECT_EQ(verdict.arms[2].objection, "memory up to 85 GiB, the limit is 80 GiB");
  EXPECT_EQ(verdict.arms[1].objection, "batch 30 instead of 32: 6.2 % less, the budget is 5 %");
}

TEST(TuneLedger, ReplaysToTheSameAndForgetsACutLine) {
  const CampaignWish wish = wish_of(3);
  Campaign campaign(wish);
  std::string text =
      head_line({"x.toml", "a = 1\n", 5, "2026-11-30T10:00:00Z", "gpu-a", "1", {{"NCCL_DEBUG", "WARN"}}});
  while (const auto plan = campaign.next()) {
    RunResult result = plan->arm == 2 ? bad() : good((100 + plan->arm) * noise(plan->number));
    text += run_line({{*plan, result}, wish.arms[plan->arm], "2026-11-30T10:00:01Z"});
    campaign.add(std::move(result));
  }
  const auto ledger = parse_ledger(text + R"({"run": 7)", "x.jsonl");
  ASSERT_TRUE(ledger) << ledger.error().message;
  EXPECT_TRUE(ledger->cut);
  EXPECT_EQ(ledger->whole_bytes, text.size());
  EXPECT_EQ(ledger->head.environment.size(), 1U);
  Campaign again(wish);
  ASSERT_TRUE(replay(*ledger, again, "x.jsonl"));
  EXPECT_EQ(again.end(), campaign.end());
  EXPECT_EQ(again.arms()[1].gains, campaign.arms()[1].gains);
  EXPECT_EQ(again.runs().back().result.last_lines, campaign.runs().back().result.last_lines);
}

TEST(TuneLedger, SaysWhereItWasChanged) {
  const CampaignWish wish = wish_of(2);
  Campaign campaign(wish);
  const auto plan = campaign.next();
  std::string text = head_line({"x.toml", "", 5, "", "", "", {}});
  text += run_line({{{1, 1, 1 - plan->arm, true}, good(1)}, "", ""});
  const auto ledger = parse_ledger(text, "x.jsonl");
  ASSERT_TRUE(ledger);
  const auto done = replay(*ledger, campaign, "x.jsonl");
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().message.starts_with("x.jsonl:2: run 1 of setting")) << done.error().message;
  EXPECT_FALSE(parse_ledger("", "x.jsonl"));
  EXPECT_FALSE(parse_ledger("{}\n", "x.jsonl"));
  EXPECT_FALSE(parse_ledger(text + "nonsense\n" + text, "x.jsonl"));
}

TEST(Sequential, HolmStopsAtTheFirstThatStands) {
  const std::vector<double> p{0.04, 0.001, 0.02, 0.5};
  EXPECT_EQ(holm(p, 0.05), (std::vector<bool>{false, true, false, false}));
  const std::vector<double> all{0.01, 0.02, 0.03};
  EXPECT_EQ(holm(all, 0.05), (std::vector<bool>{true, true, true}));
}

TEST(Sequential, EqualPairsProveNothing) {
  SymmetryTest test(0, 0.01);
  for (int each = 0; each < 100; ++each)
    test.add(0);
  EXPECT_EQ(test.peak_both(), 0);
  const std::vector<double> zeros(100, 0.0);
  const auto interval = sequential_interval(zeros, 0.95, 0.01);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 0, 1e-6);
}

}  // namespace
}  // namespace angio::experiment
