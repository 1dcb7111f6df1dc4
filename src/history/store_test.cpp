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

TEST(HistoryStore, KeepsEnvironmentsAndSamples) {
  Store store = empty_store();
  Record record = record_of("2026-11-01T10:00:00Z", 371);
  record.environment.facts = {{"settings", "NCCL_ALGO", "Ring"}, {"versions", "driver", "550"}};
  record.metrics[0].samples = {370, 371.5, 372};
  ASSERT_EQ(store.add(record).value(), true);
  ASSERT_EQ(store.add(record_of("2026-11-01T10:00:00Z", 371)).value(),
            true);  // not known where: another content
  const auto records = store.records("angio.rdma/1", "gpu-a", "", 10);
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ(records->front().environment, record.environment);
  EXPECT_FALSE(records->back().environment.is_known());
  EXPECT_EQ(records->front().metrics[0].samples, (std::vector<double>{370, 371.5, 372}));
  EXPECT_EQ(store.list()->front().fingerprint, fingerprint_of(record.environment));
  EXPECT_EQ(store.find_same(record).value()->id, records->front().id);
}

TEST(HistoryStore, BaselinesHaveNamesAndSurvivePruning) {
  Store store = empty_store();
  for (const char* day : {"2026-11-01", "2026-11-02", "2026-11-03"})
    ASSERT_TRUE(store.add(record_of(std::string(day) + "T10:00:00Z", 371)).has_value());
  const std::int64_t first = store.list()->front().id;
  ASSERT_TRUE(store.set_baseline("golden", first).has_value());
  ASSERT_TRUE(store.set_baseline("golden", first).has_value());  // again, or another one: it moves
  EXPECT_FALSE(store.set_baseline("nothing", 4711).has_value());
  EXPECT_EQ(store.prune("2030-01-01T00:00:00Z").value(), 1U);
  ASSERT_EQ(store.baselines()->size(), 1U);
  EXPECT_EQ(store.baselines()->front().entry.captured, "2026-11-01T10:00:00Z");
  EXPECT_EQ(store.find(first).value()->captured, "2026-11-01T10:00:00Z");
  EXPECT_EQ(store.newest("", "gpu-a").value()->captured, "2026-11-03T10:00:00Z");
  EXPECT_EQ(store.clear_baseline("golden").value(), true);
  EXPECT_EQ(store.clear_baseline("golden").value(), false);
}

TEST(HistoryStore, AllOrNone) {
  Store store = empty_store();
  Record broken = record_of("2026-11-02T10:00:00Z", 371);
  broken.metrics.push_back(broken.metrics.front());
  EXPECT_FALSE(store.add_all({record_of("2026-11-01T10:00:00Z", 371), broken}).has_value());
  EXPECT_TRUE(store.list()->empty());
  EXPECT_EQ(
      store.add_all({record_of("2026-11-01T10:00:00Z", 371), record_of("2026-11-01T10:00:00Z", 371)}).value(),
      1U);
  EXPECT_EQ(store.all()->size(), 1U);
}

}  // namespace
}  // namespace angio::history
