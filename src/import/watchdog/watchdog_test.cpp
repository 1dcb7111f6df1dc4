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

TEST(Watchdog, ReadsTheProgressThatADumpSignalTells) {
  const auto report = read_all(
      "[rank7]:[E ProcessGroupNCCL.cpp:1794] [PG ID 0 PG GUID 0(default_pg) Rank 7] Received a dump signal "
      "due "
      "to a collective timeout from rank 0 and we will try our best to dump the debug info. Last enqueued "
      "NCCL "
      "work: 498, last completed NCCL work: 497.\n");
  ASSERT_EQ(report.progress.size(), 1U);
  EXPECT_EQ(report.progress[0].rank, 7U);
  EXPECT_EQ(report.progress[0].enqueued, 498);
  EXPECT_EQ(report.progress[0].completed, 497);
  EXPECT_EQ(report.progress[0].guid, "0(default_pg)");
}

TEST(Watchdog, KeepsGroupsOfOneNameApart) {
  const auto line = [](int guid, int ran) {
    return "[rank3]:[E ProcessGroupNCCL.cpp:616] [PG ID 1 PG GUID " + std::to_string(guid) +
           "(tp) Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, "
           "NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for " +
           std::to_string(ran) +
           " milliseconds before timing out. last enqueued work: 9, last completed work: 8\n";
  };
  const auto report = read_all(line(1, 600011) + line(2, 600012) + line(1, 600013));
  ASSERT_EQ(report.timeouts.size(), 2U);
  EXPECT_EQ(report.timeouts[1].guid, "2(tp)");
  EXPECT_EQ(report.progress.size(), 2U);
}

TEST(Watchdog, AnExceptionThatRepeatsATimeoutIsNoSecondOne) {
  const std::string timeout =
      "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=8, "
      "NumelOut=8, "
      "Timeout(ms)=600000) ran for 600011 milliseconds before timing out.\n";
  EXPECT_EQ(read_all("[rank2]:[E ProcessGroupNCCL.cpp:616] [PG ID 1 PG GUID 5(tp) Rank 2] " + timeout +
                     "[rank2]: what():  [Rank 2] " + timeout)
                .timeouts.size(),
            1U);
  EXPECT_EQ(read_all("[rank2]:[E ProcessGroupNCCL.cpp:616] [Rank 2] " + timeout +
                     "[rank2]: what():  [PG ID 0 PG GUID 0(default_pg) Rank 2] " + timeout)
                .timeouts.size(),
            1U);
}

TEST(Watchdog, ReadsWhoNeverCameAndWhoDiedFirst) {
  const auto report = read_all(
      "[rank5]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 15/16 "
      "clients "
      "joined.\n"
      "srun: error: node-b: task 9: Killed\n"
      "srun: error: node-a: task 0: Segmentation fault\n");
  ASSERT_EQ(report.errors.size(), 2U);
  EXPECT_EQ(report.errors[0].kind, model::WatchdogErrorKind::kUnjoined);
  EXPECT_EQ(report.errors[0].result, "15/16");
  EXPECT_EQ(report.errors[1].kind, model::WatchdogErrorKind::kKilled);
  EXPECT_EQ(report.errors[1].result, "Killed");
  EXPECT_EQ(report.errors[1].host, "node-b");
  EXPECT_EQ(report.errors[1].rank, 9U);
  EXPECT_EQ(report.lines, 2U);
}

TEST(Watchdog, TasksThatSlurmEndsItselfDidNotDieFirst) {
  EXPECT_EQ(
      read_all("srun: error: node-a: task 3: Exited with exit code 1\nsrun: error: node-a: task 0: Killed\n")
          .errors.size(),
      0U);
  EXPECT_EQ(read_all("slurmstepd: error: *** STEP 7.0 ON node-a CANCELLED AT 2026-01-02T03:04:05 ***\n"
                     "srun: error: node-a: task 0: Killed\n")
                .errors.size(),
            0U);
}

TEST(Watchdog, ReadsTheExceptionOfARankButNotItsEchoes) {
  const auto report = read_all(
      "[rank15]: Traceback (most recent call last):\n"
      "[rank15]:     raise ValueError: x\n"
      "[rank15]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
      "[rank3]: KeyError: 'step'\n"
      "[rank4]: torch.distributed.DistBackendError: broken\n"
      "[rank5]: RuntimeError: [1] is setting up NCCL communicator\n");
  ASSERT_EQ(report.errors.size(), 2U);
  EXPECT_EQ(report.errors[0].kind, model::WatchdogErrorKind::kNoMemory);
  EXPECT_EQ(report.errors[0].rank, 15U);
  EXPECT_EQ(report.errors[1].kind, model::WatchdogErrorKind::kException);
  EXPECT_EQ(report.errors[1].result, "KeyError");
  EXPECT_EQ(report.lines, 0U) << "alone they are nothing of NCCL";
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
