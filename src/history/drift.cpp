#include "history/drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "base/utc_time.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::history {

using model::Metric;
using model::MetricKind;

namespace {

// 1 / Phi^-1(3/4): makes the median absolute deviation of a normal distribution its standard deviation.
constexpr double kNormal = 1.4826;
constexpr double kDay = 86400;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double deviation(std::span<const double> values, double centre) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values)
    distances.push_back(std::abs(value - centre));
  return median(std::move(distances));
}

bool counts(MetricKind kind) {
  return kind == MetricKind::kCounter || kind == MetricKind::kCounterOfErrors;
}

bool is_level(MetricKind kind) {
  return kind == MetricKind::kHigherIsBetter || kind == MetricKind::kLowerIsBetter;
}

// How much worse `value` is than `centre`: above 0 is worse.
double worse_by(MetricKind kind, double value, double centre) {
  return kind == MetricKind::kLowerIsBetter ? value - centre : centre - value;
}

using Key = std::pair<std::string, std::string>;
using Figures = std::map<Key, const Metric*>;

Figures figures_of(const Record& record) {
  Figures figures;
  for (const Metric& metric : record.metrics)
    figures.emplace(Key{metric.subject, metric.name}, &metric);
  return figures;
}

bool knows_subject(const Figures& figures, const std::string& subject) {
  const auto first = figures.lower_bound({subject, ""});
  return first != figures.end() && first->first.first == subject;
}

// ---- one figure against its past

struct Seen {
  const Record* record;
  const Metric* metric;  // null: the record does not have it
};

std::vector<double> levels(std::span<const Seen> past) {
  std::vector<double> values;
  for (const Seen& seen : past)
    if (seen.metric != nullptr) values.push_back(seen.metric->value);
  return values;
}

void judge_level(std::span<const Seen> past, Change& change) {
  const std::vector<double> values = levels(past);
  change.past = past_of(values);
  const std::optional<double> limit = drift_limit(change.past);
  if (!limit) {
    change.judgement = values.empty() ? Judgement::kNew : Judgement::kTooFew;
    return;
  }
  change.limit = *limit;
  const MetricKind kind = change.metric.kind;
  const double value = change.metric.value;
  const double worse = worse_by(kind, value, change.past.median);
  const bool lower = kind == MetricKind::kHigherIsBetter;
  const double worst = lower ? change.past.least : change.past.most;
  const double best = lower ? change.past.most : change.past.least;
  if (worse > *limit && worse_by(kind, value, worst) > 0) change.judgement = Judgement::kWorse;
  if (-worse > *limit && worse_by(kind, value, best) < 0) change.judgement = Judgement::kBetter;
}

// Growth a day between two values of a counter; one that fell was set back.
struct Growth {
  double amount = 0;
  double per_day = 0;
  bool reset = false;
};

Growth growth_between(double before, const std::string& from, double after, const std::string& to) {
  Growth growth;
  growth.reset = after < before;
  growth.amount = growth.reset ? after : after - before;
  const auto begin = parse_utc(from);
  const auto end = parse_utc(to);
  const double seconds = begin && end && *end > *begin ? static_cast<double>(*end - *begin) : kDay;
  growth.per_day = growth.amount / seconds * kDay;
  return growth;
}

double value_of(const Seen& seen) {
  return seen.metric != nullptr ? seen.metric->value : 0;  // a counter that is zero is not kept
}

void judge_counter(const Record& now, std::span<const Seen> past, Change& change) {
  if (past.empty()) {
    change.judgement = Judgement::kNew;
    return;
  }
  const Growth today =
      growth_between(value_of(past.back()), past.back().record->captured, change.metric.value, now.captured);
  change.growth = today.amount;
  change.was_reset = today.reset;
  std::vector<double> rates;
  for (std::size_t at = 1; at < past.size(); ++at)
    rates.push_back(growth_between(value_of(past[at - 1]), past[at - 1].record->captured, value_of(past[at]),
                                   past[at].record->captured)
                        .per_day);
  change.past = past_of(rates);
  if (today.amount <= 0 || change.metric.kind != MetricKind::kCounterOfErrors) return;
  change.judgement = Judgement::kGrew;
  if (today.amount < knowledge::threshold("history.fewest-errors")) return;
  if (change.past.records < knowledge::threshold("history.fewest")) return;
  change.limit = change.past.most * knowledge::threshold("history.faster");
  if (today.per_day > change.limit) change.judgement = Judgement::kWorse;
}

void judge_state(std::span<const Seen> past, Change& change) {
  const auto last =
      std::find_if(past.rbegin(), past.rend(), [](const Seen& seen) { return seen.metric != nullptr; });
  if (last == past.rend()) {
    change.judgement = Judgement::kNew;
    return;
  }
  change.past.records = static_cast<std::uint32_t>(past.size());
  change.last = last->record->captured;
  change.last_text = last->metric->text;
  if (change.last_text != change.metric.text) change.judgement = Judgement::kChanged;
}

int urgency(Judgement judgement) {
  switch (judgement) {
    case Judgement::kWorse:
      return 0;
    case Judgement::kGone:
      return 1;
    case Judgement::kChanged:
      return 2;
    case Judgement::kGrew:
      return 3;
    case Judgement::kBetter:
      return 4;
    case Judgement::kNew:
      return 5;
    case Judgement::kTooFew:
      return 6;
    case Judgement::kSame:
      break;
  }
  return 7;
}

}  // namespace

Past past_of(std::span<const double> values) {
  Past past;
  past.records = static_cast<std::uint32_t>(values.size());
  if (values.empty()) return past;
  past.median = median({values.begin(), values.end()});
  past.spread = kNormal * deviation(values, past.median);
  past.least = *std::ranges::min_element(values);
  past.most = *std::ranges::max_element(values);
  return past;
}

std::optional<double> drift_limit(const Past& past) {
  const double records = past.records;
  if (records < knowledge::threshold("history.fewest")) return std::nullopt;
  const double deviations =
      knowledge::threshold("history.deviations") + knowledge::threshold("history.deviations-few") / records;
  return std::max(deviations * past.spread,
                  std::abs(past.median) * knowledge::threshold("history.least-share"));
}

namespace {

// What the last record had and today's does not.
void add_gone(const Record& last, Comparison& comparison) {
  const Figures today = figures_of(comparison.now);
  for (const Metric& metric : last.metrics) {
    // Of a subject that is still there, a figure may be missing because it was not measured.
    if (counts(metric.kind) || knows_subject(today, metric.subject)) continue;
    Change change;
    change.metric = metric;
    change.judgement = Judgement::kGone;
    change.last = last.captured;
    change.last_text = metric.text;
    comparison.changes.push_back(std::move(change));
  }
}

}  // namespace

Comparison compare(const Record& now, std::span<const Record> past) {
  Comparison comparison;
  comparison.now = now;
  comparison.records = static_cast<std::uint32_t>(past.size());
  if (!past.empty()) {
    comparison.first = past.front().captured;
    comparison.last = past.back().captured;
  }
  std::vector<Figures> earlier;
  for (const Record& record : past)
    earlier.push_back(figures_of(record));
  // A result that does not speak of the subject at all tells nothing of its counters.
  const auto seen_before = [&](const Key& key) {
    std::vector<Seen> list;
    for (std::size_t at = 0; at < past.size(); ++at) {
      const auto found = earlier[at].find(key);
      if (found != earlier[at].end()) {
        list.push_back({&past[at], found->second});
      } else if (knows_subject(earlier[at], key.first)) {
        list.push_back({&past[at], nullptr});
      }
    }
    return list;
  };
  for (const Metric& metric : now.metrics) {
    const std::vector<Seen> list = seen_before({metric.subject, metric.name});
    Change change;
    change.metric = metric;
    change.last = comparison.last;
    if (metric.kind == MetricKind::kState) judge_state(list, change);
    if (counts(metric.kind)) judge_counter(now, list, change);
    if (is_level(metric.kind)) judge_level(list, change);
    comparison.changes.push_back(std::move(change));
  }
  if (!past.empty()) add_gone(past.back(), comparison);
  sort_by_urgency(comparison);
  return comparison;
}

void sort_by_urgency(Comparison& comparison) {
  std::ranges::stable_sort(comparison.changes, {},
                           [](const Change& change) { return urgency(change.judgement); });
}

namespace {

std::string with_unit(double value, const std::string& unit) {
  return fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit);
}

// The times at which a counter is known: one that is missing in a result was zero in it.
std::vector<Sample> filled(const Series& series, std::span<const std::string> times) {
  std::vector<Sample> samples;
  auto next = series.samples.begin();
  for (const std::string& time : times) {
    while (next != series.samples.end() && next->captured < time)
      ++next;
    const bool there = next != series.samples.end() && next->captured == time;
    samples.push_back(there ? *next : Sample{time, 0, ""});
  }
  return samples;
}

Since since_growth(Since since, std::span<const std::string> times) {
  const std::vector<Sample> samples = filled(since.series, times);
  // To fall is to be set back; what it counted since then is growth as well.
  const auto grew = [&](std::size_t at) {
    return growth_between(samples[at - 1].value, "", samples[at].value, "").amount > 0;
  };
  // The last time it did not grow before it grew to what it is: the start of the latest climb.
  std::size_t at = samples.size();
  while (at > 1 && !grew(at - 1))
    --at;
  if (at <= 1) {
    since.words = samples.empty() ? "it was never kept" : "it has not grown in the records that are kept";
    return since;
  }
  std::size_t begin = at - 1;
  while (begin > 1 && grew(begin - 1))
    --begin;
  since.found = true;
  since.good = samples[begin - 1].captured;
  since.bad = samples[begin].captured;
  const std::string before = with_unit(samples[begin - 1].value, since.series.unit);
  const bool was_reset = samples[begin].value < samples[begin - 1].value;
  since.before = was_reset ? before + ", then set back" : before;
  since.after = with_unit(samples[at - 1].value, since.series.unit);
  return since;
}

Since since_state(Since since) {
  const std::vector<Sample>& samples = since.series.samples;
  std::size_t at = samples.size();
  while (at > 1 && samples[at - 1].text == samples[at - 2].text)
    --at;
  if (at <= 1) {
    since.words = "it is the same in all records that are kept";
    return since;
  }
  since.found = true;
  since.good = samples[at - 2].captured;
  since.bad = samples[at - 1].captured;
  since.before = samples[at - 2].text;
  since.after = samples[at - 1].text;
  return since;
}

// The split that leaves the least distance from the medians of both sides.
std::size_t best_split(std::span<const double> values, std::size_t fewest) {
  std::size_t best = 0;
  double least = 0;
  for (std::size_t at = fewest; at < values.size(); ++at) {
    const auto sum = [](std::span<const double> part) {
      const double centre = median({part.begin(), part.end()});
      double distance = 0;
      for (const double value : part)
        distance += std::abs(value - centre);
      return distance;
    };
    const double cost = sum(values.first(at)) + sum(values.subspan(at));
    if (best != 0 && cost >= least) continue;
    best = at;
    least = cost;
  }
  return best;
}

Since since_level(Since since) {
  constexpr std::size_t kMostLooked = 500;  // the search is quadratic
  const std::vector<Sample>& samples = since.series.samples;
  const std::size_t from = samples.size() - std::min(samples.size(), kMostLooked);
  std::vector<double> values;
  for (std::size_t at = from; at < samples.size(); ++at)
    values.push_back(samples[at].value);
  const auto fewest = static_cast<std::size_t>(knowledge::threshold("history.fewest"));
  if (values.size() <= fewest) {
    since.words = fmt::format("too few records: {}, more than {} are needed", values.size(), fewest);
    return since;
  }
  const std::size_t split = best_split(values, fewest);
  const std::span<const double> all(values);
  const Past before = past_of(all.first(split));
  const Past after = past_of(all.subspan(split));
  const std::optional<double> limit = drift_limit(before);
  if (!limit || worse_by(since.series.kind, after.median, before.median) <= *limit) {
    since.words =
        fmt::format("no step for the worse: median {} over {}, {} to {}",
                    with_unit(past_of(values).median, since.series.unit), count_of(values.size(), "record"),
                    with_unit(past_of(values).least, ""), with_unit(past_of(values).most, since.series.unit));
    return since;
  }
  since.found = true;
  since.good = samples[from + split - 1].captured;
  since.bad = samples[from + split].captured;
  since.before = with_unit(before.median, since.series.unit);
  since.after = with_unit(after.median, since.series.unit);
  return since;
}

}  // namespace

Since since_when(const Series& series, std::span<const std::string> times) {
  Since since;
  since.series = series;
  if (series.kind == MetricKind::kState) return since_state(std::move(since));
  if (counts(series.kind)) return since_growth(std::move(since), times);
  return since_level(std::move(since));
}

}  // namespace angio::history
