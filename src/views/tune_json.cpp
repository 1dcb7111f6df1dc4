#include <fmt/format.h>

#include "views/metrics_json.hpp"
#include "views/tune_view.hpp"
#include "views/tune_words.hpp"

namespace angio::views {
namespace {

using experiment::ArmVerdict;

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json interval_json(const std::optional<experiment::Interval>& interval) {
  if (!interval) return {};
  return Json::object({{"low", interval->low}, {"high", interval->high}});
}

Json settings_json(const TuneReport& report, std::uint32_t arm) {
  Json json = Json::object();
  for (std::size_t at = 0; at < report.spec->factors.size(); ++at) {
    const experiment::Factor& factor = report.spec->factors[at];
    const experiment::Level& level = factor.levels[report.arms[arm].levels[at]];
    json.set(factor.name, !level.given ? Json(false) : level.bare ? Json(true) : Json(level.value));
  }
  return json;
}

Json watches_json(const TuneReport& report, const ArmVerdict& arm) {
  Json list = Json::array();
  for (std::size_t at = 0; at < arm.watches.size(); ++at) {
    const experiment::WatchRule& rule = report.spec->wish.watches[at];
    list.push_back(Json::object({{"name", rule.name},
                                 {"unit", rule.unit},
                                 {"median", or_null(arm.watches[at].median)},
                                 {"worst", or_null(arm.watches[at].worst)},
                                 {"baseline_median", or_null(arm.watches[at].baseline)},
                                 {"objection", arm.watches[at].objection}}));
  }
  return list;
}

Json failure_json(const TuneReport& report, std::uint32_t number) {
  const auto& last = report.campaign->arms()[number].last_failure;
  if (!last) return {};
  const experiment::TuneRun& run = report.campaign->runs()[*last];
  return Json::object({{"run", run.plan.number},
                       {"exit_code", run.result.exit_code},
                       {"words", run.result.failure},
                       {"last_lines", run.result.last_lines}});
}

Json arm_json(const TuneReport& report, std::uint32_t number) {
  const ArmVerdict& arm = report.verdict.arms[number];
  Json values = Json::array();
  for (const double value : arm.values)
    values.push_back(value);
  return Json::object({{"name", report.arms[number].name},
                       {"settings", settings_json(report, number)},
                       {"verdict", number == 0 ? "baseline" : tune_state_word(arm.state)},
                       {"kept", number == report.verdict.kept},
                       {"objection", arm.objection},
                       {"gain", or_null(arm.gain)},
                       {"gain_between", interval_json(arm.gain_between)},
                       {"p_value_before_holm", number == 0 ? Json() : Json(arm.chance)},
                       {"pairs", arm.pairs},
                       {"failures", arm.failures},
                       {"last_failure", failure_json(report, number)},
                       {"watches", watches_json(report, arm)},
                       {"values", std::move(values)}});
}

std::vector<model::Metric> metrics_of(const TuneReport& report) {
  const auto kind = report.spec->wish.better == experiment::Better::kLower
                        ? model::MetricKind::kLowerIsBetter
                        : model::MetricKind::kHigherIsBetter;
  std::vector<model::Metric> metrics;
  for (std::size_t arm = 0; arm < report.arms.size(); ++arm) {
    const std::vector<double>& values = report.verdict.arms[arm].values;
    if (!values.empty())
      metrics.push_back({report.arms[arm].name, report.spec->measure.name, experiment::median(values), "",
                         report.spec->measure.unit, kind});
  }
  return metrics;
}

}  // namespace

Json tune_json(const TuneReport& report) {
  const experiment::CampaignWish& wish = report.spec->wish;
  Json arms = Json::array();
  for (std::uint32_t arm = 0; arm < report.arms.size(); ++arm)
    arms.push_back(arm_json(report, arm));
  Json ranking = Json::array();
  for (const std::uint32_t arm : report.verdict.ranking)
    ranking.push_back(report.arms[arm].name);
  return Json::object({{"schema", "angio.tune/1"},
                       {"captured", report.captured},
                       {"subject", report.host},
                       {"words", tune_words(report)},
                       {"hypothesis", report.spec->hypothesis},
                       {"kept", report.arms[report.verdict.kept].name},
                       {"metric", report.spec->measure.name},
                       {"unit", report.spec->measure.unit},
                       {"better", wish.better == experiment::Better::kLower ? "lower" : "higher"},
                       {"confidence", wish.confidence},
                       {"smallest_effect", wish.worthwhile},
                       {"method", "sequential sign bets on paired log ratios, Holm over settings"},
                       {"seed", fmt::format("{}", wish.seed)},
                       {"ended", tune_end_words(report)},
                       {"runs", static_cast<std::uint64_t>(report.campaign->runs().size())},
                       {"seconds", report.campaign->seconds()},
                       {"ranking", std::move(ranking)},
                       {"settings", std::move(arms)},
                       {"metrics", metrics_json(metrics_of(report))}});
}

}  // namespace angio::views
