#include "experiment/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::experiment {
namespace {

constexpr std::size_t kErrorLines = 5;

std::string last_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    if (!trim(line).empty()) lines.push_back(printable(line));
  }
  if (lines.size() > kErrorLines) lines.erase(lines.begin(), lines.end() - kErrorLines);
  return join(lines, "\n");
}

// One run into the comparison; false: nothing more is to be run.
class Conductor {
 public:
  Conductor(Comparison& comparison, const Metric& metric, const Runner& run)
      : comparison_(comparison), metric_(metric), run_(run) {}

  bool one(std::uint32_t arm, bool warm_up, std::uint32_t number) {
    auto outcome = run_(comparison_.wish.arms[arm]);
    if (!outcome) return stop({arm, number, 0, outcome.error().message, {}});
    if (outcome->interrupted) {
      comparison_.interrupted = true;
      return false;
    }
    if (outcome->exit_code != 0) {
      return stop({arm, number, outcome->exit_code, fmt::format("exit code {}", outcome->exit_code),
                   last_lines(outcome->errors)});
    }
    const auto value = metric_.read(outcome->seconds, outcome->output);
    if (!value) return stop({arm, number, 0, value.error().message, last_lines(outcome->errors)});
    comparison_.records.push_back({arm, warm_up, outcome->seconds, *value});
    return true;
  }

 private:
  bool stop(Failure failure) {
    comparison_.failure = std::move(failure);
    return false;
  }
  Comparison& comparison_;
  const Metric& metric_;
  const Runner& run_;
};

void conclude(Comparison& comparison) {
  std::vector<double> a = values_of(comparison, 0);
  std::vector<double> b = values_of(comparison, 1);
  const std::size_t pairs = std::min(a.size(), b.size());
  a.resize(pairs);
  b.resize(pairs);
  auto verdict = judge(a, b, comparison.wish.confidence, comparison.wish.resolve);
  if (verdict) {
    comparison.verdict = *verdict;
  } else {
    comparison.no_verdict = verdict.error().message;
  }
}

Interval exponent(const Interval& interval) {
  return {std::exp(interval.estimate), std::exp(interval.low), std::exp(interval.high)};
}

}  // namespace

std::vector<std::uint32_t> order_of(const ComparisonWish& wish) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t each = 0; each < wish.warm_up; ++each)
    order.insert(order.end(), {0, 1});
  std::mt19937_64 random(wish.seed);
  for (std::uint32_t pair = 0; pair < wish.runs; ++pair) {
    // 0 1, 1 0, 1 0, 0 1: the sequence of Thue and Morse also cancels a drift that grows.
    const bool turned = wish.order == Order::kRandom ? (random() >> 63U) != 0 : std::popcount(pair) % 2 == 1;
    order.insert(order.end(), {turned ? 1U : 0U, turned ? 0U : 1U});
  }
  return order;
}

std::vector<double> values_of(const Comparison& comparison, std::uint32_t arm) {
  std::vector<double> values;
  for (const RunRecord& record : comparison.records) {
    if (record.arm == arm && !record.warm_up) values.push_back(record.value);
  }
  return values;
}

Comparison compare(const ComparisonWish& wish, const Metric& metric, const Runner& run,
                   const std::function<void(std::size_t, std::size_t, const Arm&)>& progress) {
  Comparison comparison;
  comparison.wish = wish;
  comparison.metric = metric.wish();
  Conductor conductor(comparison, metric, run);
  const std::vector<std::uint32_t> order = order_of(wish);
  for (std::size_t at = 0; at < order.size(); ++at) {
    progress(at + 1, order.size(), wish.arms[order[at]]);
    if (!conductor.one(order[at], at < std::size_t{2} * wish.warm_up, static_cast<std::uint32_t>(at + 1)))
      break;
  }
  conclude(comparison);
  return comparison;
}

Result<Verdict> judge(const std::vector<double>& a, const std::vector<double>& b, double confidence,
                      double resolve) {
  constexpr std::size_t kLeast = 2;
  const std::size_t pairs = std::min(a.size(), b.size());
  if (pairs < kLeast) {
    return fail(ErrorCode::kInvalidInput, fmt::format("{} finished: at least {} are needed to know a spread",
                                                      count_of(pairs, "pair"), kLeast));
  }
  std::vector<double> logs;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    if (!(a[pair] > 0) || !(b[pair] > 0)) {
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("a value of {:g} has no ratio to another: the metric must be above 0",
                              a[pair] > 0 ? b[pair] : a[pair]));
    }
    logs.push_back(std::log(b[pair] / a[pair]));
  }
  Verdict verdict;
  verdict.pairs = static_cast<std::uint32_t>(pairs);
  verdict.pair_deviation = standard_deviation(logs);
  verdict.method = "signed ranks of paired log ratios";
  auto interval = signed_rank_interval(logs, confidence);
  if (!interval) {
    verdict.method = "t interval of paired log ratios";
    interval = t_interval(logs, confidence);
  }
  verdict.ratio = exponent(*interval);
  verdict.shown = verdict.ratio.low > 1 || verdict.ratio.high < 1;
  const std::uint32_t needed = needed_pairs(verdict.pair_deviation, std::log1p(resolve), confidence);
  if (needed > pairs) verdict.pairs_to_resolve = needed;
  return verdict;
}

}  // namespace angio::experiment
