#include "views/bench_compare_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::views {

using experiment::Better;
using experiment::Comparison;
using experiment::MetricKind;
using experiment::Verdict;
using report::Document;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

namespace {

bool is_time(const Comparison& comparison) {
  return comparison.metric.kind == MetricKind::kWallTime;
}

// Two digits that count: 0.034 %, 3.2 %, 51 %.
std::string percent(double ratio) {
  const double value = std::abs(ratio - 1) * 100;
  if (value >= 9.95) return fmt::format("{:.0f} %", value);
  if (value >= 0.095 || value == 0) return fmt::format("{:.1f} %", value);
  return fmt::format("{:.2g} %", value);
}

const char* direction(bool time, bool less) {
  if (time) return less ? "less" : "more";
  return less ? "lower" : "higher";
}

// " (better)" where the user said which way is better; of time everybody knows.
std::string valued(const Comparison& comparison, bool less) {
  const Better better = comparison.metric.better;
  if (is_time(comparison) || better == Better::kUnstated) return "";
  return (better == Better::kLower) == less ? ", which is better" : ", which is worse";
}

std::string grounds(const Comparison& comparison) {
  return fmt::format("{:g} % confidence, {} each", comparison.wish.confidence * 100,
                     count_of(comparison.verdict->pairs, "run"));
}

std::string shown_words(const Comparison& comparison) {
  const experiment::Interval& ratio = comparison.verdict->ratio;
  const bool less = ratio.high < 1;
  const bool time = is_time(comparison);
  const std::string near = percent(less ? ratio.high : ratio.low);
  const std::string far = percent(less ? ratio.low : ratio.high);
  const std::string& a = comparison.wish.arms[0].label;
  const std::string& b = comparison.wish.arms[1].label;
  const std::string range = near == far ? near : fmt::format("{} to {}", near, far);
  if (time)
    return fmt::format("{} needs {} {} time than {} ({})", b, range, direction(true, less), a,
                       grounds(comparison));
  return fmt::format("{} is {} {} than {}{} ({})", b, range, direction(false, less), a,
                     valued(comparison, less), grounds(comparison));
}

std::string not_shown_words(const Comparison& comparison) {
  const experiment::Interval& ratio = comparison.verdict->ratio;
  const bool time = is_time(comparison);
  return fmt::format("no difference shown: {}{} is between {} {} and {} {} than {}{} ({})",
                     comparison.wish.arms[1].label, time ? "'s time" : "", percent(ratio.low),
                     direction(time, true), percent(ratio.high), direction(time, false),
                     comparison.wish.arms[0].label, time ? "'s" : "", grounds(comparison));
}

std::string arm_line(const Comparison& comparison, std::uint32_t arm) {
  const std::vector<double> values = experiment::values_of(comparison, arm);
  if (values.empty()) return fmt::format("{}: no run finished", comparison.wish.arms[arm].label);
  const char* unit = is_time(comparison) ? " s" : "";
  return fmt::format("{}: median {:.4g}{}, {:.4g} to {:.4g}, {}", comparison.wish.arms[arm].label,
                     experiment::median(values), unit, *std::ranges::min_element(values),
                     *std::ranges::max_element(values), count_of(values.size(), "run"));
}

std::string metric_words(const Comparison& comparison) {
  switch (comparison.metric.kind) {
    case MetricKind::kWallTime:
      return "wall time";
    case MetricKind::kLastNumber:
      return "the last number printed";
    case MetricKind::kPattern:
      break;
  }
  return fmt::format("what \"{}\" finds", printable(comparison.metric.pattern));
}

std::string order_words(const Comparison& comparison) {
  if (comparison.wish.order == experiment::Order::kAbba) return "order A B B A B A A B";
  return fmt::format("order by chance within each pair, seed {}", comparison.wish.seed);
}

std::string command_text(const experiment::Arm& arm) {
  return printable(join(arm.command, " "));
}

void add_failure(Document& document, const Comparison& comparison) {
  if (!comparison.failure) return;
  const experiment::Failure& failure = *comparison.failure;
  const experiment::Arm& arm = comparison.wish.arms[failure.arm];
  document.blocks.emplace_back(Paragraph{
      toned(fmt::format("run {} ({}) failed: {}", failure.run, arm.label, failure.words), Tone::kCritical)});
  report::Preformatted lines;
  for (const std::string_view line : split_lines(failure.last_errors))
    lines.lines.push_back(plain("  " + std::string(line)));
  if (!failure.last_errors.empty()) document.blocks.emplace_back(std::move(lines));
}

Json verdict_json(const Comparison& comparison) {
  if (!comparison.verdict) return Json::object({{"missing", comparison.no_verdict}});
  const Verdict& verdict = *comparison.verdict;
  return Json::object(
      {{"words", verdict_words(comparison)},
       {"difference_shown", verdict.shown},
       {"ratio_b_to_a", Json::object({{"estimate", verdict.ratio.estimate},
                                      {"low", verdict.ratio.low},
                                      {"high", verdict.ratio.high}})},
       {"confidence", comparison.wish.confidence},
       {"method", verdict.method},
       {"pairs", verdict.pairs},
       {"deviation_of_log_ratios", verdict.pair_deviation},
       {"pairs_to_resolve", verdict.pairs_to_resolve ? Json(*verdict.pairs_to_resolve) : Json()},
       {"resolve", comparison.wish.resolve}});
}

Json runs_json(const Comparison& comparison) {
  Json runs = Json::array();
  for (const experiment::RunRecord& record : comparison.records) {
    runs.push_back(Json::object({{"arm", record.arm == 0 ? "a" : "b"},
                                 {"warm_up", record.warm_up},
                                 {"seconds", record.seconds},
                                 {"value", record.value}}));
  }
  return runs;
}

Json arm_json(const experiment::Arm& arm) {
  Json words = Json::array();
  for (const std::string& word : arm.command)
    words.push_back(word);
  return Json::object({{"label", arm.label}, {"command", std::move(words)}});
}

Json failure_json(const Comparison& comparison) {
  if (!comparison.failure) return {};
  const experiment::Failure& failure = *comparison.failure;
  return Json::object({{"arm", failure.arm == 0 ? "a" : "b"},
                       {"run", failure.run},
                       {"exit_code", failure.exit_code},
                       {"words", failure.words},
                       {"last_errors", failure.last_errors}});
}

}  // namespace

std::string verdict_words(const Comparison& comparison) {
  if (!comparison.verdict) return "no answer: " + comparison.no_verdict;
  return comparison.verdict->shown ? shown_words(comparison) : not_shown_words(comparison);
}

Document comparison_result_document(const Comparison& comparison) {
  Document document;
  add_failure(document, comparison);
  document.blocks.emplace_back(Paragraph{toned(verdict_words(comparison), Tone::kStrong)});
  report::Fields fields;
  for (std::uint32_t arm = 0; arm < 2; ++arm)
    fields.rows.emplace_back(arm == 0 ? "A" : "B", plain(arm_line(comparison, arm)));
  for (std::uint32_t arm = 0; arm < 2; ++arm) {
    fields.rows.emplace_back(arm == 0 ? "A runs" : "B runs",
                             toned(command_text(comparison.wish.arms[arm]), Tone::kQuiet));
  }
  if (const auto& verdict = comparison.verdict) {
    fields.rows.emplace_back("judged", toned(fmt::format("by {}; {}; {}", metric_words(comparison),
                                                         order_words(comparison), verdict->method),
                                             Tone::kQuiet));
    if (verdict->pairs_to_resolve) {
      fields.rows.emplace_back(
          "needed", plain(fmt::format("with this spread about {} runs each to tell differences of {:g} %",
                                      *verdict->pairs_to_resolve, comparison.wish.resolve * 100)));
    }
  }
  document.blocks.emplace_back(std::move(fields));
  if (comparison.interrupted) {
    document.blocks.emplace_back(
        Paragraph{toned("interrupted: the run under way does not count", Tone::kWarning)});
  }
  return document;
}

Json comparison_result_json(const Comparison& comparison) {
  const bool random = comparison.wish.order == experiment::Order::kRandom;
  Json json = Json::object({{"schema", "angio.bench-compare/1"},
                            {"a", arm_json(comparison.wish.arms[0])},
                            {"b", arm_json(comparison.wish.arms[1])},
                            {"metric", metric_words(comparison)},
                            {"order", random ? "random" : "abba"},
                            {"seed", random ? Json(comparison.wish.seed) : Json()},
                            {"verdict", verdict_json(comparison)},
                            {"interrupted", comparison.interrupted},
                            {"failure", failure_json(comparison)},
                            {"runs", runs_json(comparison)}});
  return json;
}

}  // namespace angio::views
