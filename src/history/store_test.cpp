#include "history/store.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace angio::history {
namespace {

using model::MetricKind;

Record record_of(const std::string& captured, double sent, const std::string& subject = "gpu-a") {
  Record record;
  record.schema = "angio.rdma/1";
  record.subject = subject;
  record.captured = captured;
  record.metrics = {{subject + " mlx5_0", "sent", sent, "", "Gb/s", MetricKind::kHigherIsBetter},
                    {subject + " mlx5_0", "state", 0, "ACTIVE", "", MetricKind::kState}};
  return record;
}

// In memory: no file is made.
Store empty_store() {
  auto store = Store::open(":memory:", Access::kWrite);
  EXPECT_TRUE(store.has_value()) << store.error().message;
  return std::move(*store);
}

TEST(HistoryStore, KeepsEachResultOnce) {
  Store store = empty_store();
  EXPECT_EQ(store.add(record_of("2026-11-01T10:00:00Z", 371)).value(), true);
  EXPECT_EQ(store.add(record_of("2026-11-01T10:00:00Z", 371)).value(), false);
  EXPECT_EQ(store.add(record_of("2026-11-01T10:00:00Z", 372)).value(),
            true);  // another content of the same second
  EXPECT_EQ(store.add(record_of("2026-11-02T10:00:00Z", 371)).value(), true);
  const auto entries = store.list();
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ(entries->front().metrics, 2U);
}

TEST(HistoryStore, GivesBackWhatItGot) {
  Store store = empty_store();
  for (const char* day : {"2026-11-03", "2026-11-01", "2026-11-02"})
    ASSERT_TRUE(store.add(record_of(std::string(day) + "T10:00:00Z", 371)).has_value());
  ASSERT_TRUE(store.add(record_of("2026-11-02T11:00:00Z", 100, "gpu-b")).has_value());
  const auto records = store.records("angio.rdma/1", "gpu-a", "2026-11-03T10:00:00Z", 10);
  ASSERT_TRUE(records.has_value());
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ(records->front().captured, "2026-11-01T10:00:00Z");
  ASSERT_EQ(records->front().metrics.size(), 2U);
  EXPECT_DOUBLE_EQ(records->front().metrics[0].value, 371);
  EXPECT_EQ(records->front().metrics[1].text, "ACTIVE");
  EXPECT_EQ(records->front().metrics[1].kind, MetricKind::kState);
  EXPECT_EQ(store.records("angio.rdma/1", "gpu-a", "", 2)->front().captured, "2026-11-02T10:00:00Z");
  EXPECT_TRUE(store.records("angio.mesh/1", "gpu-a", "", 2)->empty());
}

TEST(HistoryStore, FindsFiguresByTheirNames) {
  Store store = empty_store();
  for (const char* day : {"2026-11-02", "2026-11-01"}) {
    ASSERT_TRUE(store.add(record_of(std::string(day) + "T10:00:00Z", 371)).has_value());
    ASSERT_TRUE(store.add(record_of(std::string(day) + "T10:00:00Z", 360, "gpu-b")).has_value());
  }
  EXPECT_EQ(store.series(Match::kOwner, "gpu-a")->size(), 2U);
  EXPECT_EQ(store.series(Match::kSubject, "gpu-b mlx5_0")->size(), 2U);
  const auto named = store.series(Match::kName, "sent");
  ASSERT_EQ(named->size(), 2U);
  ASSERT_EQ(named->front().samples.size(), 2U);
  EXPECT_EQ(named->front().samples[0].captured, "2026-11-01T10:00:00Z");
  EXPECT_EQ(named->front().unit, "Gb/s");
  EXPECT_EQ(store.times("angio.rdma/1", "gpu-a")->size(), 2U);
  EXPECT_TRUE(store.series(Match::kName, "x' OR 1=1 --")->empty());
}

TEST(HistoryStore, PruningKeepsTheNewestOfEach) {
  Store store = empty_store();
  for (const char* day : {"2026-11-01", "2026-11-02", "2026-11-03"})
    ASSERT_TRUE(store.add(record_of(std::string(day) + "T10:00:00Z", 371)).has_value());
  ASSERT_TRUE(store.add(record_of("2025-11-02T11:00:00Z", 100, "gpu-b")).has_value());
  EXPECT_EQ(store.prune("2026-11-02T12:00:00Z").value(), 2U);
  EXPECT_EQ(store.list()->size(), 2U);
  EXPECT_EQ(store.prune("2030-01-01T00:00:00Z").value(), 0U);
  EXPECT_EQ(store.records("angio.rdma/1", "gpu-b", "", 10)->front().metrics.size(), 2U);
  ASSERT_TRUE(store.add(record_of("2026-12-02T11:00:00Z", 100, "gpu-b")).has_value());
}

TEST(HistoryStore, AFigureThatStandsTwiceLosesNothingElse) {
  Store store = empty_store();
  Record record = record_of("2026-11-01T10:00:00Z", 371);
  record.metrics.push_back(record.metrics.front());
  EXPECT_FALSE(store.add(record).has_value());  // parse_record leaves none; the store refuses the whole
  EXPECT_TRUE(store.list()->empty());
  EXPECT_EQ(store.add(record_of("2026-11-01T10:00:00Z", 371)).value(), true);
}

TEST(HistoryStore, AFolderThatIsNotThereIsAnError) {
  const auto store = Store::open("/nonexistent/angio/history.db", Access::kWrite);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(contains(store.error().message, "/nonexistent/angio/history.db: cannot be opened"));
}

}  // namespace
}  // namespace angio::history
