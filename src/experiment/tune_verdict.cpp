#include "experiment/tune_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace angio::experiment {
namespace {

std::vector<double> watched(const Campaign& campaign, std::uint32_t arm, std::size_t watch, bool& missing) {
  std::vector<double> values;
  for (const TuneRun& run : campaign.runs()) {
    if (run.plan.arm != arm || run.plan.warm_up || !run.result.value) continue;
    const bool known = watch < run.result.watches.size() && run.result.watches[watch];
    if (known) values.push_back(*run.result.watches[watch]);
    missing = missing || !known;
  }
  return values;
}

std::string with_unit(double value, const WatchRule& rule) {
  return fmt::format("{:.4g}{}{}", value, rule.unit.empty() ? "" : " ", rule.unit);
}

std::string objection_to(const WatchRule& rule, const WatchVerdict& verdict, bool missing) {
  if (missing || !verdict.median) return fmt::format("{} is not known of every run", rule.name);
  const bool low = rule.better == Better::kHigher;
  if (rule.limit && (low ? *verdict.worst < *rule.limit : *verdict.worst > *rule.limit)) {
    return fmt::format("{} {} to {}, the limit is {}", rule.name, low ? "down" : "up",
                       with_unit(*verdict.worst, rule), with_unit(*rule.limit, rule));
  }
  if (!rule.budget) return "";
  if (!verdict.baseline || *verdict.baseline == 0)
    return fmt::format("{} of the baseline is not known", rule.name);
  const double change = (*verdict.median - *verdict.baseline) / std::abs(*verdict.baseline);
  if ((low ? -change : change) <= *rule.budget + 1e-12) return "";
  return fmt::format("{} {} instead of {}: {:.1f} % {}, the budget is {:g} %", rule.name,
                     with_unit(*verdict.median, rule), with_unit(*verdict.baseline, rule),
                     std::abs(change) * 100, low ? "less" : "more", *rule.budget * 100);
}

void judge_watches(const Campaign& campaign, ArmVerdict& arm) {
  for (std::size_t at = 0; at < campaign.wish().watches.size(); ++at) {
    const WatchRule& rule = campaign.wish().watches[at];
    bool missing = false;
    bool missing_there = false;
    const std::vector<double> values = watched(campaign, arm.arm, at, missing);
    const std::vector<double> baseline = watched(campaign, 0, at, missing_there);
    WatchVerdict verdict;
    if (!values.empty()) {
      verdict.median = median(values);
      const auto [least, most] = std::ranges::minmax(values);
      verdict.worst = rule.better == Better::kHigher ? least : most;
    }
    if (!baseline.empty()) verdict.baseline = median(baseline);
    if (!values.empty() || missing) verdict.objection = objection_to(rule, verdict, missing);
    if (!verdict.objection.empty() && arm.objection.empty()) arm.objection = verdict.objection;
    arm.watches.push_back(std::move(verdict));
  }
}

ArmVerdict judge_arm(const Campaign& campaign, std::uint32_t number) {
  const ArmProgress& progress = campaign.arms()[number];
  ArmVerdict arm;
  arm.arm = number;
  arm.state = progress.state;
  arm.pairs = static_cast<std::uint32_t>(progress.gains.size());
  arm.failures = progress.failures;
  for (const TuneRun& run : campaign.runs()) {
    if (run.plan.arm == number && !run.plan.warm_up && run.result.value)
      arm.values.push_back(*run.result.value);
  }
  if (number != 0 && !progress.gains.empty()) {
    arm.gain = std::expm1(centre_of(progress.gains));
    arm.chance = std::exp(-progress.nothing.peak_both());
    const auto interval = sequential_interval(progress.gains, campaign.wish().confidence,
                                              std::log1p(campaign.wish().worthwhile));
    if (interval)
      arm.gain_between =
          Interval{std::expm1(interval->estimate), std::expm1(interval->low), std::expm1(interval->high)};
  }
  judge_watches(campaign, arm);
  if (number != 0 && arm.failures > campaign.arms()[0].failures && arm.objection.empty())
    arm.objection = fmt::format("{} of its runs failed", arm.failures);
  return arm;
}

int class_of(const TuneVerdict& verdict, std::uint32_t number) {
  const ArmVerdict& arm = verdict.arms[number];
  if (number == verdict.kept) return 0;
  switch (arm.state) {
    case ArmState::kBetter:
      return 1;
    case ArmState::kUndecided:
      return 2;
    case ArmState::kAlike:
      return 3;
    case ArmState::kWorse:
      return 4;
    case ArmState::kFailed:
      return 5;
  }
  return 5;
}

}  // namespace

TuneVerdict judge_campaign(const Campaign& campaign) {
  TuneVerdict verdict;
  for (std::uint32_t arm = 0; arm < campaign.arms().size(); ++arm)
    verdict.arms.push_back(judge_arm(campaign, arm));
  // What is sure of it decides, not the estimate.
  const auto sure = [](const ArmVerdict& arm) { return arm.gain_between ? arm.gain_between->low : 0; };
  for (const ArmVerdict& arm : verdict.arms) {
    if (arm.state != ArmState::kBetter || !arm.objection.empty()) continue;
    if (verdict.kept == 0 || sure(arm) > sure(verdict.arms[verdict.kept])) verdict.kept = arm.arm;
  }
  verdict.ranking.resize(verdict.arms.size() - 1);
  std::iota(verdict.ranking.begin(), verdict.ranking.end(), 1U);
  std::ranges::stable_sort(verdict.ranking, [&](std::uint32_t a, std::uint32_t b) {
    const int first = class_of(verdict, a);
    const int second = class_of(verdict, b);
    if (first != second) return first < second;
    return verdict.arms[a].gain.value_or(-1) > verdict.arms[b].gain.value_or(-1);
  });
  return verdict;
}

}  // namespace angio::experiment
