#include <gtest/gtest.h>

#include "history/drift.hpp"

namespace angio::history {
namespace {

using model::MetricKind;

Record record_of(double centre, std::size_t figures, std::size_t repeats, const std::string& captured) {
  Record record;
  record.schema = "angio.bench-collective/1";
  record.subject = "gpu-a";
  record.captured = captured;
  for (std::size_t at = 0; at < figures; ++at) {
    model::Metric metric{"size " + std::to_string(at), "busbw", at == 0 ? centre : 100, "", "GB/s",
                         MetricKind::kHigherIsBetter};
    for (std::size_t repeat = 0; repeat < repeats; ++repeat)
      metric.samples.push_back(metric.value + 0.1 * static_cast<double>(repeat));
    record.metrics.push_back(std::move(metric));
  }
  return record;
}

Judgement judged(double now, std::size_t figures, std::size_t repeats) {
  const Record before = record_of(100, figures, repeats, "2026-11-01T00:00:00Z");
  Comparison comparison =
      compare(record_of(now, figures, repeats, "2026-11-02T00:00:00Z"), std::vector<Record>{before});
  judge_repeats(before, comparison);
  for (const Change& change : comparison.changes)
    if (change.metric.subject == "size 0") return change.judgement;
  return Judgement::kGone;
}

TEST(HistoryRepeats, JudgeWhereRecordsAreTooFew) {
  EXPECT_EQ(judged(90, 1, 6), Judgement::kWorse);
  EXPECT_EQ(judged(110, 1, 6), Judgement::kBetter);
  EXPECT_EQ(judged(100.05, 1, 6), Judgement::kSame);
  EXPECT_EQ(judged(101.5, 1, 6), Judgement::kSame);  // shown, and below 2 %
  EXPECT_EQ(judged(90, 1, 3), Judgement::kTooFew);   // three repeats cannot tell
}

TEST(HistoryRepeats, ManyFiguresNeedMoreRepeats) {
  EXPECT_EQ(judged(90, 40, 4), Judgement::kTooFew);  // 2 of 70 orders, 40 times
  EXPECT_EQ(judged(90, 40, 10), Judgement::kWorse);
}

TEST(HistoryExport, WhatIsNoneIsRefused) {
  for (const char* text : {"", "{}", "[]", R"({"schema": "angio.history-export/1"})",
                           R"({"schema": "angio.history-export/1", "records": [{}]})",
                           R"({"schema": "angio.history-export/1", "records": 3})"})
    EXPECT_FALSE(parse_export(text, "x").has_value()) << text;
  const auto empty = parse_export(
      R"({"schema": "angio.history-export/1", "records": [], "baselines": [{"name": "a"}]})", "x");
  ASSERT_TRUE(empty.has_value());
  EXPECT_TRUE(empty->records.empty());
  EXPECT_TRUE(empty->baselines.empty());
}

TEST(HistoryRecord, SamplesAndEnvironmentOfAResult) {
  const std::string start = R"({"schema": "a/1", "subject": "s", "captured": "2026-11-01T00:00:00Z", )";
  const std::string metric =
      R"("metrics": [{"subject": "x", "name": "y", "value": 1, "kind": "higher_is_better", "samples": )";
  const auto good = parse_record(
      start + R"("environment": {"versions": {"driver": "550"}}, )" + metric + "[1, 2.5]}]}", "x");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->metrics[0].samples, (std::vector<double>{1, 2.5}));
  EXPECT_TRUE(good->environment.is_known());
  for (const char* samples : {"3", "[\"a\"]", "[1e999]", "[null]"})
    EXPECT_FALSE(parse_record(start + metric + samples + "}]}", "x").has_value()) << samples;
  EXPECT_FALSE(parse_record(start + R"("environment": 3, )" + metric + "[1]}]}", "x").has_value());
}

}  // namespace
}  // namespace angio::history
