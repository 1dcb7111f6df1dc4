#include "experiment/campaign.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace angio::experiment {
namespace {

constexpr std::uint32_t kMostFailures = 2;          // then a setting leaves the campaign
constexpr std::uint32_t kMostBaselineFailures = 3;  // in turn

// Fisher and Yates, written out: what std::shuffle does with a seed differs between libraries.
void shuffle(std::vector<std::uint32_t>& order, std::mt19937_64& random) {
  for (std::size_t left = order.size(); left > 1; --left) {
    const std::uint64_t unbiased = std::mt19937_64::max() - std::mt19937_64::max() % left;
    std::uint64_t drawn = random();
    while (drawn >= unbiased)
      drawn = random();
    std::swap(order[left - 1], order[drawn % left]);
  }
}

// Each block has its own generator, so that a resumed campaign needs no earlier draws.
std::mt19937_64 generator_of(std::uint64_t seed, std::uint32_t block) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U), block};
  return std::mt19937_64(words);
}

double log_gain(Better better, double baseline, double value) {
  return better == Better::kLower ? std::log(baseline / value) : std::log(value / baseline);
}

}  // namespace

Campaign::Campaign(CampaignWish wish) : wish_(std::move(wish)) {
  const double worth = std::log1p(wish_.worthwhile);
  for (std::size_t arm = 0; arm < wish_.arms.size(); ++arm) {
    arms_.push_back({.gains = {},
                     .nothing = SymmetryTest(0, worth),
                     .gain = SymmetryTest(worth, worth),
                     .loss = SymmetryTest(-worth, worth),
                     .last_failure = {}});
  }
  begin_block();
}

std::optional<PlannedRun> Campaign::next() const {
  if (end_ != CampaignEnd::kRunning) return std::nullopt;
  return PlannedRun{static_cast<std::uint32_t>(runs_.size() + 1), block_, order_[at_],
                    block_ <= wish_.warm_up};
}

void Campaign::add(RunResult result) {
  const std::optional<PlannedRun> plan = next();
  if (!plan) return;
  if (result.value && !(*result.value > 0 && std::isfinite(*result.value))) {
    result.value.reset();
    result.failure = "its figure is not above 0, so it has no ratio to another";
  }
  seconds_ += result.seconds;
  const bool failed = !result.value;
  runs_.push_back({*plan, std::move(result)});
  if (plan->arm == 0) baseline_failures_in_turn_ = failed ? baseline_failures_in_turn_ + 1 : 0;
  if (failed) note_failure(plan->arm);
  if (!failed && !plan->warm_up) ++arms_[plan->arm].runs;
  if (++at_ == order_.size() || baseline_failures_in_turn_ == kMostBaselineFailures) end_block();
}

void Campaign::note_failure(std::uint32_t arm) {
  ArmProgress& progress = arms_[arm];
  ++progress.failures;
  progress.last_failure = runs_.size() - 1;
  if (arm != 0 && progress.failures >= kMostFailures) progress.state = ArmState::kFailed;
}

void Campaign::begin_block() {
  order_.clear();
  order_.push_back(0);
  for (std::uint32_t arm = 1; arm < arms_.size(); ++arm) {
    if (arms_[arm].state == ArmState::kUndecided) order_.push_back(arm);
  }
  ++block_;
  std::mt19937_64 random = generator_of(wish_.seed, block_);
  shuffle(order_, random);
  at_ = 0;
  block_start_ = runs_.size();
  const auto ran = [](const TuneRun& run) { return run.plan.arm == 0 && run.result.value; };
  if (order_.size() == 1)
    end_ = std::ranges::any_of(runs_, ran) ? CampaignEnd::kDecided : CampaignEnd::kNoBaseline;
  // A part of a block has no pairs, so none is begun that the budget would cut.
  if (end_ == CampaignEnd::kRunning && runs_.size() + order_.size() > wish_.most_runs)
    end_ = CampaignEnd::kRunsSpent;
  if (end_ == CampaignEnd::kRunning && wish_.most_seconds && seconds_ >= *wish_.most_seconds)
    end_ = CampaignEnd::kTimeSpent;
}

void Campaign::end_block() {
  if (baseline_failures_in_turn_ >= kMostBaselineFailures) {
    end_ = CampaignEnd::kNoBaseline;
    return;
  }
  const TuneRun* baseline = nullptr;
  for (std::size_t at = block_start_; at < runs_.size(); ++at) {
    if (runs_[at].plan.arm == 0 && runs_[at].result.value) baseline = &runs_[at];
  }
  for (std::size_t at = block_start_; baseline != nullptr && at < runs_.size(); ++at) {
    const TuneRun& run = runs_[at];
    if (run.plan.arm == 0 || run.plan.warm_up || !run.result.value) continue;
    const double gain = log_gain(wish_.better, *baseline->result.value, *run.result.value);
    ArmProgress& arm = arms_[run.plan.arm];
    arm.gains.push_back(gain);
    for (SymmetryTest* test : {&arm.nothing, &arm.gain, &arm.loss})
      test->add(gain);
  }
  decide();
  begin_block();
}

// Holm over all settings for "better" and "worse"; "alike" is a statement of each one's own interval.
void Campaign::decide() {
  std::vector<double> chances;
  for (std::size_t arm = 1; arm < arms_.size(); ++arm)
    chances.push_back(std::exp(-arms_[arm].nothing.peak_both()));
  const double alpha = 1 - wish_.confidence;
  const std::vector<bool> proven = holm(chances, alpha);
  const double limit = std::log(2 / alpha);
  for (std::size_t at = 1; at < arms_.size(); ++at) {
    ArmProgress& arm = arms_[at];
    if (arm.state != ArmState::kUndecided) continue;
    if (proven[at - 1]) {
      arm.state = arm.nothing.peak_above() > arm.nothing.peak_below() ? ArmState::kBetter : ArmState::kWorse;
    } else if (arm.gain.peak_below() >= limit && arm.loss.peak_above() >= limit) {
      arm.state = ArmState::kAlike;
    }
  }
}

}  // namespace angio::experiment
