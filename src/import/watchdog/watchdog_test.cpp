#include "import/watchdog/watchdog.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "support/samples.hpp"

namespace angio::import::watchdog {
namespace {

model::WatchdogReport read_all(std::string_view text) {
  LineReader reader;
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(text))
    reader.read(1, ++number, line);
  return reader.take();
}

TEST(Watchdog, ReadsTimeoutsAndProgressOfEachRankOnce) {
  const auto report = read_all(test::sample("watchdog/timeout.log"));
  ASSERT_EQ(report.timeouts.size(), 3U);
  EXPECT_EQ(report.timeouts[0].rank, 0U);
  EXPECT_EQ(report.timeouts[0].sequence, 4102U);
  EXPECT_EQ(report.timeouts[0].operation, "ALLREDUCE");
  EXPECT_EQ(report.timeouts[0].elements_in, 524288U);
  EXPECT_EQ(report.timeouts[0].limit_ms, 600000U);
  EXPECT_EQ(report.timeouts[0].ran_ms, 600031U);
  EXPECT_EQ(report.timeouts[0].source.line, 2U);
  EXPECT_EQ(report.timeouts[2].rank, 3U);
  EXPECT_EQ(report.timeouts[2].operation, "ALLGATHER");
  ASSERT_EQ(report.progress.size(), 3U);
  EXPECT_EQ(report.progress[2].enqueued, 4101);
  EXPECT_EQ(report.progress[2].completed, 4100);
  EXPECT_EQ(report.progress[0].group, "0");
}

TEST(Watchdog, ReadsTheNewerPrefix) {
  const auto report = read_all(
      "[rank7]:[E ProcessGroupNCCL.cpp:607] [PG ID 2 PG GUID 11(tp) Rank 7] Watchdog caught collective "
      "operation timeout: "
      "WorkNCCL(SeqNum=3, OpType=_ALLGATHER_BASE, NumelIn=8, NumelOut=64, Timeout(ms)=1800000) ran for "
      "1800007 milliseconds "
      "before timing out.\n");
  ASSERT_EQ(report.timeouts.size(), 1U);
  EXPECT_EQ(report.timeouts[0].rank, 7U);
  EXPECT_EQ(report.timeouts[0].group, "2");
  EXPECT_EQ(report.timeouts[0].guid, "11(tp)");
  EXPECT_EQ(report.timeouts[0].operation, "_ALLGATHER_BASE");
  EXPECT_EQ(report.timeouts[0].limit_ms, 1800000U);
}

TEST(Watchdog, JoinsAnExceptionWithItsResultAndLastError) {
  const auto report = read_all(test::sample("watchdog/system_error.log"));
  ASSERT_EQ(report.errors.size(), 1U);
  EXPECT_EQ(report.errors[0].kind, model::WatchdogErrorKind::kNccl);
  EXPECT_EQ(report.errors[0].rank, 5U);
  EXPECT_EQ(report.errors[0].version, "2.21.5");
  EXPECT_EQ(report.errors[0].result, "ncclSystemError");
  EXPECT_TRUE(contains(report.errors[0].last_error, "192.0.2.40<41873> failed"));
  EXPECT_EQ(report.errors[0].last_error_source.line, 7U);
}

TEST(Watchdog, ReadsDesynchronisationReports) {
  const auto report = read_all(
      "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
      "CollectiveFingerPrint(SequenceNumber=5, OpType=ALLREDUCE, TensorShape=[10]), but Rank 1 is running "
      "collective: "
      "CollectiveFingerPrint(SequenceNumber=5, OpType=BROADCAST, TensorShape=[10]).\n"
      "\t - [2] finished collective #5, but didn't join collective #6 (count from 1)\n");
  ASSERT_EQ(report.errors.size(), 2U);
  EXPECT_EQ(report.errors[0].kind, model::WatchdogErrorKind::kDesync);
  EXPECT_TRUE(contains(report.errors[1].text, "didn't join collective #6"));
}

TEST(Watchdog, OrdinaryLinesSayNothing) {
  EXPECT_EQ(
      read_all(
          "collective wisdom\nwatchdog: BUG: soft lockup - CPU#3 stuck for 22s!\nNCCL error rates are low\n")
          .lines,
      0U);
}

}  // namespace
}  // namespace angio::import::watchdog
