#include "history/record.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace angio::history {
namespace {

constexpr const char* kResult =
    R"({"schema": "angio.rdma/1", "subject": "gpu-a", "captured": "2026-11-30T10:00:00Z",
 "metrics": [{"subject": "gpu-a mlx5_0 port 1", "name": "state", "text": "ACTIVE", "kind": "state"},
  {"subject": "gpu-a mlx5_0 port 1", "name": "symbol_error", "value": 3, "unit": "symbols", "kind": "counter_of_errors"},
  {"subject": "gpu-a mlx5_0 port 1", "name": "sent", "value": 371.5, "unit": "Gb/s", "kind": "higher_is_better"},
  {"subject": "gpu-a mlx5_0 port 1", "name": "sent", "value": 1, "unit": "Gb/s", "kind": "higher_is_better"}]})";

std::string error_of(std::string_view json, const std::string& captured = {}) {
  const auto record = parse_record(json, "x.json", captured);
  return record ? "" : record.error().message;
}

TEST(HistoryRecord, ReadsWhatIsWorthKeeping) {
  const auto record = parse_record(kResult, "x.json");
  ASSERT_TRUE(record.has_value()) << record.error().message;
  EXPECT_EQ(record->subject, "gpu-a");
  ASSERT_EQ(record->metrics.size(), 3U);
  EXPECT_EQ(record->repeated, 1U);
  EXPECT_EQ(record->metrics[0].text, "ACTIVE");
  EXPECT_DOUBLE_EQ(record->metrics[1].value, 3);
  EXPECT_EQ(record->metrics[2].kind, model::MetricKind::kHigherIsBetter);
}

TEST(HistoryRecord, SaysWhatIsWrong) {
  EXPECT_EQ(error_of(""), "x.json: is empty");
  EXPECT_TRUE(contains(error_of("{\"metrics\": "), "x.json: "));
  EXPECT_EQ(error_of("{}"), "x.json: has no \"metrics\"");
  EXPECT_EQ(error_of(R"({"metrics": []})"), "x.json: has no \"schema\" or no \"subject\"");
  const std::string head =
      R"({"schema": "s", "subject": "x", "captured": "2026-11-30T10:00:00Z", "metrics": [)";
  EXPECT_EQ(error_of(head + R"({"name": "a"}]})"),
            "x.json: figure 1 of \"metrics\" has no subject or no name");
  EXPECT_EQ(error_of(head + R"({"subject": "a", "name": "b", "kind": "odd"}]})"),
            "x.json: figure 1 of \"metrics\" is of the unknown kind \"odd\"");
  EXPECT_EQ(error_of(head + R"({"subject": "a", "name": "b", "kind": "counter", "value": "3"}]})"),
            "x.json: figure 1 of \"metrics\" has no value that is a number");
  EXPECT_EQ(error_of(head + R"({"subject": "a", "name": "b", "kind": "state"}]})"),
            "x.json: figure 1 of \"metrics\" is a state without a text");
}

TEST(HistoryRecord, ATimeIsNeeded) {
  const std::string without = R"({"schema": "s", "subject": "x", "captured": null, "metrics": []})";
  EXPECT_EQ(error_of(without), "x.json: does not say when it was captured");
  EXPECT_EQ(error_of(without, "2026-11-30T10:00:00Z"), "");
  EXPECT_TRUE(contains(error_of(without, "yesterday"), "is no time"));
}

TEST(HistoryRecord, TheDigestTellsContentsApart) {
  Record record = *parse_record(kResult, "x.json");
  const std::string digest = digest_of(record);
  EXPECT_EQ(digest.size(), 16U);
  EXPECT_EQ(digest_of(record), digest);
  record.metrics[1].value = 4;
  EXPECT_NE(digest_of(record), digest);
}

TEST(HistoryRecord, EachKindHasAWord) {
  for (const auto kind :
       {model::MetricKind::kHigherIsBetter, model::MetricKind::kLowerIsBetter,
        model::MetricKind::kCounterOfErrors, model::MetricKind::kCounter, model::MetricKind::kState})
    EXPECT_EQ(parse_kind(kind_word(kind)), kind);
  EXPECT_FALSE(parse_kind("").has_value());
}

}  // namespace
}  // namespace angio::history
