#include "history/drift.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/text.hpp"

namespace angio::history {
namespace {

using model::Metric;
using model::MetricKind;

Record record_at(int day, std::vector<Metric> metrics) {
  Record record;
  record.schema = "angio.rdma/1";
  record.subject = "gpu-a";
  const std::string number = std::to_string(day);
  record.captured = "2026-11-" + std::string(2 - number.size(), '0') + number + "T10:00:00Z";
  record.metrics = std::move(metrics);
  return record;
}
Metric sent(double value) {
  return {"mlx5_0", "sent", value, "", "Gb/s", MetricKind::kHigherIsBetter};
}
Metric errors(double value) {
  return {"mlx5_0", "symbol_error", value, "", "symbols", MetricKind::kCounterOfErrors};
}
Metric state(const std::string& text) {
  return {"mlx5_0", "state", 0, text, "", MetricKind::kState};
}
std::vector<Record> past_with(std::span<const double> values, Metric (*make)(double)) {
  std::vector<Record> past;
  for (const double value : values)
    past.push_back(record_at(static_cast<int>(past.size()) + 1, {make(value)}));
  return past;
}
Judgement judged(const std::vector<Record>& past, Metric now) {
  return compare(record_at(29, {std::move(now)}), past).changes.at(0).judgement;
}

constexpr double kSteady[] = {371, 372, 370, 371.5, 370.5, 371};

TEST(HistoryDrift, ADropBeyondTheSpreadIsWorse) {
  const auto past = past_with(kSteady, sent);
  EXPECT_EQ(judged(past, sent(288)), Judgement::kWorse);
  EXPECT_EQ(judged(past, sent(370)), Judgement::kSame);
  EXPECT_EQ(judged(past, sent(366)),
            Judgement::kSame);  // 1.3 %: less than a drift, however steady the past was
  EXPECT_EQ(judged(past, sent(395)), Judgement::kBetter);
  const Change change = compare(record_at(29, {sent(288)}), past).changes[0];
  EXPECT_DOUBLE_EQ(change.past.median, 371);
  EXPECT_NEAR(change.limit, 7.9, 0.3);
}

TEST(HistoryDrift, LowerCanBeBetter) {
  std::vector<Record> past;
  for (int day = 1; day <= 6; ++day)
    past.push_back(record_at(day, {{"a -> b", "latency", 1.9, "", "us", MetricKind::kLowerIsBetter}}));
  EXPECT_EQ(judged(past, {"a -> b", "latency", 4, "", "us", MetricKind::kLowerIsBetter}), Judgement::kWorse);
  EXPECT_EQ(judged(past, {"a -> b", "latency", 1.2, "", "us", MetricKind::kLowerIsBetter}),
            Judgement::kBetter);
}

TEST(HistoryDrift, FewRecordsClaimNothing) {
  const auto past = past_with(std::span(kSteady).first(4), sent);
  EXPECT_EQ(judged(past, sent(100)), Judgement::kTooFew);
  EXPECT_EQ(judged({}, sent(100)), Judgement::kNew);
}

TEST(HistoryDrift, AWidePastHidesWhatAnOldOneAlreadyShowed) {
  constexpr double kWide[] = {300, 372, 310, 371.5, 330, 371, 305, 360};
  EXPECT_EQ(judged(past_with(kWide, sent), sent(299)), Judgement::kSame);
}

// What data/history.toml says of false alarms.
TEST(HistoryDrift, NoiseDoesNotAlarm) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(370, 8);
  for (const auto& [records, limit] : {std::pair{5, 0.008}, std::pair{8, 0.002}, std::pair{20, 0.001}}) {
    int alarms = 0;
    constexpr int kSeries = 20000;
    for (int series = 0; series < kSeries; ++series) {
      std::vector<double> values;
      for (int i = 0; i < records; ++i)
        values.push_back(noise(random));
      const Past past = past_of(values);
      const double today = noise(random);
      if (today < past.median - *drift_limit(past) && today < past.least) ++alarms;
    }
    EXPECT_LT(static_cast<double>(alarms) / kSeries, limit) << records;
  }
}

TEST(HistoryDrift, ErrorCountersClimb) {
  constexpr double kCounts[] = {0, 2, 4, 6, 8, 10, 12};
  const auto past = past_with(kCounts, errors);
  EXPECT_EQ(judged(past, errors(12)), Judgement::kSame);
  const Change slow = compare(record_at(8, {errors(14)}), past).changes[0];
  EXPECT_EQ(slow.judgement, Judgement::kGrew);
  EXPECT_DOUBLE_EQ(*slow.growth, 2);
  EXPECT_EQ(compare(record_at(8, {errors(500)}), past).changes[0].judgement, Judgement::kWorse);
  const Change reset = compare(record_at(8, {errors(1)}), past).changes[0];
  EXPECT_TRUE(reset.was_reset);
  EXPECT_DOUBLE_EQ(*reset.growth, 1);
  EXPECT_EQ(reset.judgement, Judgement::kGrew);
}

// One error a minute after the last record is 1,440 a day: a figure of the interval, not of the link.
TEST(HistoryDrift, AFewErrorsAreNeverARate) {
  constexpr double kNever[] = {0, 0, 0, 0, 0, 0, 0};
  constexpr double kCounts[] = {0, 2, 4, 6, 8, 10, 12};
  for (const auto& values : {kNever, kCounts}) {
    const auto past = past_with(std::span(values, 7), errors);
    const double last = values[6];
    Record soon = record_at(7, {errors(last + 2)});
    soon.captured = "2026-11-07T10:01:00Z";
    EXPECT_EQ(compare(soon, past).changes[0].judgement, Judgement::kGrew) << last;
    soon.metrics = {errors(last + 3)};
    EXPECT_EQ(compare(soon, past).changes[0].judgement, Judgement::kWorse) << last;
  }
}

TEST(HistoryDrift, ACounterThatWasNotKeptWasZero) {
  std::vector<Record> past;
  for (int day = 1; day <= 7; ++day)
    past.push_back(record_at(day, {sent(370)}));
  const Comparison comparison = compare(record_at(8, {sent(370), errors(40)}), past);
  EXPECT_EQ(comparison.changes[0].metric.name, "symbol_error");
  EXPECT_EQ(comparison.changes[0].judgement, Judgement::kWorse);  // it never grew before
  EXPECT_DOUBLE_EQ(*comparison.changes[0].growth, 40);
}

TEST(HistoryDrift, StatesChangeAndPortsGo) {
  const std::vector<Record> past{record_at(1, {state("ACTIVE 4x NDR"), sent(370)})};
  const Comparison changed = compare(record_at(2, {state("ACTIVE 4x HDR"), sent(370)}), past);
  EXPECT_EQ(changed.changes[0].judgement, Judgement::kChanged);
  EXPECT_EQ(changed.changes[0].last_text, "ACTIVE 4x NDR");
  EXPECT_EQ(changed.changes[1].judgement, Judgement::kTooFew);
  const Metric other{"mlx5_1", "state", 0, "ACTIVE", "", MetricKind::kState};
  const Comparison gone = compare(record_at(2, {other}), past);
  ASSERT_EQ(gone.changes.size(), 3U);
  EXPECT_EQ(gone.changes[0].judgement, Judgement::kGone);
  EXPECT_EQ(gone.changes[0].metric.name, "state");
  // Not measured today is not gone.
  EXPECT_EQ(compare(record_at(2, {state("ACTIVE 4x NDR")}), past).changes.size(), 1U);
}

Series series_of(std::span<const double> values, MetricKind kind) {
  const bool counter = kind == MetricKind::kCounterOfErrors;
  Series series{"angio.mesh/1",
                "mesh",
                "a -> b",
                counter ? "symbol_error" : "write bandwidth",
                counter ? "symbols" : "Gb/s",
                kind,
                {}};
  int day = 0;
  for (const double value : values)
    series.samples.push_back({record_at(++day, {}).captured, value, ""});
  return series;
}
std::vector<std::string> times_of(const Series& series) {
  std::vector<std::string> times;
  for (const Sample& sample : series.samples)
    times.push_back(sample.captured);
  return times;
}

TEST(HistorySince, FindsTheStep) {
  constexpr double kStep[] = {371, 372, 370, 371, 370, 371, 290, 288, 291};
  const Series series = series_of(kStep, MetricKind::kHigherIsBetter);
  const Since since = since_when(series, times_of(series));
  ASSERT_TRUE(since.found) << since.words;
  EXPECT_EQ(since.good, "2026-11-06T10:00:00Z");
  EXPECT_EQ(since.bad, "2026-11-07T10:00:00Z");
  EXPECT_EQ(since.before, "371 Gb/s");
  EXPECT_EQ(since.after, "290 Gb/s");
}

TEST(HistorySince, FindsTheLastRecordAlone) {
  constexpr double kStep[] = {371, 372, 370, 371, 370, 371, 290};
  const Series series = series_of(kStep, MetricKind::kHigherIsBetter);
  EXPECT_EQ(since_when(series, times_of(series)).bad, "2026-11-07T10:00:00Z");
}

TEST(HistorySince, NoiseHasNoStep) {
  constexpr double kNoise[] = {371, 365, 370, 374, 368, 371, 366, 372, 369};
  const Series series = series_of(kNoise, MetricKind::kHigherIsBetter);
  const Since since = since_when(series, times_of(series));
  EXPECT_FALSE(since.found);
  EXPECT_TRUE(contains(since.words, "no step for the worse: median 370 Gb/s over 9 records")) << since.words;
  constexpr double kBetter[] = {290, 288, 291, 290, 289, 371, 372, 370};
  EXPECT_FALSE(since_when(series_of(kBetter, MetricKind::kHigherIsBetter), times_of(series)).found);
  EXPECT_TRUE(contains(
      since_when(series_of(std::span(kNoise).first(5), MetricKind::kHigherIsBetter), {}).words, "too few"));
}

TEST(HistorySince, CountersAndStates) {
  constexpr double kCounts[] = {0, 0, 0, 5, 9, 9};
  const Series counter = series_of(kCounts, MetricKind::kCounterOfErrors);
  const Since grew = since_when(counter, times_of(counter));
  ASSERT_TRUE(grew.found);
  EXPECT_EQ(grew.good, "2026-11-03T10:00:00Z");
  EXPECT_EQ(grew.bad, "2026-11-04T10:00:00Z");
  Series states = series_of(kCounts, MetricKind::kState);
  for (std::size_t at = 0; at < states.samples.size(); ++at)
    states.samples[at].text = at < 4 ? "ACTIVE" : "DOWN";
  const Since changed = since_when(states, times_of(states));
  ASSERT_TRUE(changed.found);
  EXPECT_EQ(changed.bad, "2026-11-05T10:00:00Z");
  EXPECT_EQ(changed.before, "ACTIVE");
  EXPECT_EQ(changed.after, "DOWN");
  Series missing = counter;  // zeros are not kept
  missing.samples.erase(missing.samples.begin(), missing.samples.begin() + 3);
  EXPECT_EQ(since_when(missing, times_of(counter)).bad, "2026-11-04T10:00:00Z");
}

TEST(HistorySince, ToBeSetBackIsNoGrowth) {
  constexpr double kCleared[] = {0, 0, 1000, 1000, 0, 0};
  const Series cleared = series_of(kCleared, MetricKind::kCounterOfErrors);
  const Since since = since_when(cleared, times_of(cleared));
  ASSERT_TRUE(since.found);
  EXPECT_EQ(since.bad, "2026-11-03T10:00:00Z");
  EXPECT_EQ(since.after, "1000 symbols");
  constexpr double kFell[] = {1000, 0, 0};
  EXPECT_FALSE(since_when(series_of(kFell, MetricKind::kCounterOfErrors), times_of(cleared)).found);
  constexpr double kAgain[] = {1000, 1000, 40, 40};
  const Since again = since_when(series_of(kAgain, MetricKind::kCounterOfErrors), times_of(cleared));
  ASSERT_TRUE(again.found);
  EXPECT_EQ(again.bad, "2026-11-03T10:00:00Z");
  EXPECT_EQ(again.before, "1000 symbols, then set back");
  EXPECT_EQ(again.after, "40 symbols");
}

TEST(HistorySince, NothingGivesNothing) {
  for (const auto kind : {MetricKind::kState, MetricKind::kCounter, MetricKind::kHigherIsBetter})
    EXPECT_FALSE(since_when(series_of({}, kind), {}).found);
}

}  // namespace
}  // namespace angio::history
