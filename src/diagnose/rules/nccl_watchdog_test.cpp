// Hangs as PyTorch's process groups and the launcher tell them.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "diagnose/rules/nccl_test_logs.hpp"

namespace angio::diagnose {
namespace {

using namespace angio::test;  // NOLINT(google-build-using-namespace)

model::WatchdogTimeout timeout(std::uint32_t rank, std::uint64_t sequence, std::string operation) {
  model::WatchdogTimeout one;
  one.rank = rank;
  one.sequence = sequence;
  one.operation = std::move(operation);
  one.limit_ms = 600000;
  one.ran_ms = 600031;
  one.elements_in = 1024;
  one.text = "Watchdog caught collective operation timeout";
  one.source = line(10 + rank);
  return one;
}
model::WatchdogProgress progress(std::uint32_t rank, std::int64_t enqueued, std::int64_t completed) {
  model::WatchdogProgress one;
  one.rank = rank;
  one.enqueued = enqueued;
  one.completed = completed;
  one.source = line(40 + rank);
  return one;
}
model::WatchdogError error(model::WatchdogErrorKind kind, std::optional<std::uint32_t> rank,
                           std::string result, std::string text) {
  model::WatchdogError one;
  one.kind = kind;
  one.rank = rank;
  one.result = std::move(result);
  one.text = std::move(text);
  one.source = line(60);
  return one;
}
Machine with_watchdog(model::WatchdogReport report, std::optional<NcclLog> log = {}) {
  NcclEvidence evidence;
  evidence.log = std::move(log);
  evidence.places.add("job.log");
  evidence.watchdog = std::move(report);
  return with_evidence(std::move(evidence));
}

TEST(NcclWatchdogTimeout, FiresOnTheRankThatIsBehind) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 41, "ALLREDUCE"), timeout(1, 41, "ALLREDUCE"), timeout(2, 40, "ALLGATHER")};
  const auto found = findings_of(with_watchdog(report), "nccl.watchdog.timeout");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "Rank 2 hung in collective 40 (ALLGATHER) after 600 s, the others wait in 41 (ALLREDUCE)");
  EXPECT_EQ(found[0].fixes.size(), 3U);  // 600 s is the default
}
TEST(NcclWatchdogTimeout, FiresOnTheRankThatNeverReported) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 41, "ALLREDUCE"), timeout(1, 41, "ALLREDUCE"), timeout(3, 41, "ALLREDUCE")};
  EXPECT_TRUE(contains(findings_of(with_watchdog(report), "nccl.watchdog.timeout").at(0).title,
                       "rank 2 never reported"));
}
TEST(NcclWatchdogTimeout, FiresOnTheRankThatHasNotEvenEnqueuedWhatTheOthersWaitFor) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 512, "ALLREDUCE")};
  report.progress = {progress(0, 515, 511), progress(1, 512, 511), progress(2, 498, 498),
                     progress(3, 512, 511)};
  const auto found = findings_of(with_watchdog(report, healthy_log()), "nccl.watchdog.timeout");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "Rank 2 stopped at collective 498, the others wait in 512 (ALLREDUCE) after 600 s");
  EXPECT_TRUE(contains(found[0].fixes.at(0).text, "Look at rank 2:"));
  EXPECT_EQ(found[0].evidence.at(1).text, "rank 2: last enqueued 498, last completed 498");
}
TEST(NcclWatchdogTimeout, FiresOnTheHighestRankThatIsMissing) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 41, "ALLREDUCE"), timeout(1, 41, "ALLREDUCE"), timeout(2, 41, "ALLREDUCE")};
  const auto found = findings_of(with_watchdog(report, healthy_log()), "nccl.watchdog.timeout");
  EXPECT_EQ(found.at(0).title, "Collective 41 (ALLREDUCE) did not end after 600 s; rank 3 never reported");
  EXPECT_TRUE(contains(found[0].fixes.at(0).text, "Look at rank 3:"));
}
TEST(NcclWatchdogTimeout, FiresAndNamesNobodyWhereFewReported) {
  model::WatchdogReport report;
  report.timeouts = {timeout(2, 41, "ALLREDUCE")};
  const auto found = findings_of(with_watchdog(report, healthy_log()), "nccl.watchdog.timeout");
  EXPECT_EQ(found.at(0).title, "Collective 41 (ALLREDUCE) did not end after 600 s; 1 of 4 ranks reported");
  EXPECT_TRUE(contains(found[0].fixes.at(0).text, "Look at the ranks that did not report:"));
}
TEST(NcclWatchdogTimeout, FiresWithoutASuspectWhereAllRanksWaitInOneCollective) {
  model::WatchdogReport report;
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    report.timeouts.push_back(timeout(rank, 41, "ALLREDUCE"));
  const auto found = findings_of(with_watchdog(report, healthy_log()), "nccl.watchdog.timeout");
  EXPECT_EQ(found.at(0).title, "Collective 41 (ALLREDUCE) did not end after 600 s; all 4 ranks wait in it");
  EXPECT_TRUE(contains(found[0].fixes.at(0).text, "All ranks entered it"));
}
TEST(NcclWatchdogTimeout, FiresWithoutBlamingTheNetworkWhereTheRanksCallDifferentThings) {
  model::WatchdogReport report;
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    report.timeouts.push_back(timeout(rank, 41, rank == 2 ? "_ALLGATHER_BASE" : "ALLREDUCE"));
  const auto found = findings_of(with_watchdog(report, healthy_log()), "nccl.watchdog.timeout");
  EXPECT_TRUE(contains(found.at(0).title, "; its ranks call different operations or sizes"));
  EXPECT_TRUE(contains(found[0].fixes.at(0).text, "Look at the ranks that call another operation or size"));
}
TEST(NcclWatchdogTimeout, FiresOncePerGroupWhereTwoGroupsShareAName) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 9, "ALLREDUCE"), timeout(1, 9, "ALLREDUCE"), timeout(2, 59, "ALLREDUCE"),
                     timeout(3, 59, "ALLREDUCE")};
  for (model::WatchdogTimeout& one : report.timeouts) {
    one.group = "1";
    one.guid = one.sequence == 9 ? "1(tp)" : "2(tp)";
  }
  const auto found = findings_of(with_watchdog(report, healthy_log()), "nccl.watchdog.timeout");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].title, "Collective 9 (ALLREDUCE) of group 1(tp) did not end after 600 s");
  EXPECT_EQ(found[1].title, "Collective 59 (ALLREDUCE) of group 2(tp) did not end after 600 s");
  EXPECT_TRUE(contains(found[0].fixes.at(0).text, "the ranks of that group that did not report"));
}
TEST(NcclWatchdogTimeout, FiresOnATransferWithoutComparingItsEnds) {
  model::WatchdogReport report;
  report.timeouts = {timeout(1, 10, "SEND"), timeout(2, 12, "RECV")};
  const auto found = findings_of(with_watchdog(report, healthy_log()), "nccl.watchdog.timeout");
  EXPECT_EQ(found.at(0).title, "Point-to-point operations (SEND, RECV) of ranks 1-2 did not end after 600 s");
}
TEST(NcclWatchdogTimeout, FiresAndSaysWhatTheSilentRankDiedOf) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 41, "ALLREDUCE"), timeout(1, 41, "ALLREDUCE"), timeout(2, 41, "ALLREDUCE")};
  report.errors.push_back(error(model::WatchdogErrorKind::kNoMemory, 3, "OutOfMemoryError",
                                "[rank3]: torch.OutOfMemoryError: CUDA out of memory"));
  const auto found = findings_of(with_watchdog(report, healthy_log()), "nccl.watchdog.timeout");
  EXPECT_EQ(found.at(0).title, "Collective 41 (ALLREDUCE) did not end after 600 s; rank 3 ran out of memory");
  EXPECT_TRUE(contains(found[0].fixes.at(0).text, "Look at rank 3:"));
}
TEST(NcclWatchdogTimeout, FiresBelowRanksThatNeverCameUp) {
  NcclLog log = healthy_log();
  auto& ranks = log.communicators[0].ranks;
  for (model::NcclRank& rank : ranks)
    rank.state = model::NcclRankState::kStarted;
  ranks.pop_back();
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 1, "ALLREDUCE")};
  const auto all = diagnose::diagnose(with_watchdog(report, log)).findings;
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all[0].rule, "nccl.ranks.missing");
  EXPECT_EQ(all[1].rule, "nccl.watchdog.timeout");
}
TEST(NcclWatchdogTimeout, SilentWithoutTimeouts) {
  EXPECT_TRUE(held(with_watchdog({}), "nccl.watchdog.timeout"));
}
TEST(NcclWatchdogTimeout, UndecidedWhenOnlyTheHeartbeatStopped) {
  model::WatchdogReport report;
  report.errors.push_back({model::WatchdogErrorKind::kHeartbeat,
                           0,
                           "",
                           "",
                           "",
                           "watchdog got stuck for 480 seconds",
                           line(4),
                           {}});
  EXPECT_EQ(undecided_of(with_watchdog(report), "nccl.watchdog.timeout").size(), 1U);
}

TEST(NcclWatchdogMismatch, FiresOnDifferentOperationsAtOneNumber) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 41, "ALLREDUCE"), timeout(1, 41, "BROADCAST")};
  EXPECT_EQ(findings_of(with_watchdog(report), "nccl.watchdog.mismatch").at(0).title,
            "At collective 41 rank 0 calls ALLREDUCE and rank 1 calls BROADCAST");
  report.timeouts[1].operation = "ALLREDUCE";
  report.timeouts[1].elements_in = 512;
  EXPECT_EQ(findings_of(with_watchdog(report), "nccl.watchdog.mismatch").at(0).title,
            "At collective 41 rank 0 calls ALLREDUCE of 1024 and rank 1 calls ALLREDUCE of 512 elements");
}
TEST(NcclWatchdogMismatch, SilentOnEqualCalls) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 41, "ALLREDUCE"), timeout(1, 41, "ALLREDUCE")};
  EXPECT_TRUE(held(with_watchdog(report), "nccl.watchdog.mismatch"));
}
TEST(NcclWatchdogMismatch, SilentOnTheTwoEndsOfATransferAndOnGroupsOfOneName) {
  model::WatchdogReport report;
  report.timeouts = {timeout(3, 10, "SEND"), timeout(4, 10, "RECV")};
  EXPECT_TRUE(held(with_watchdog(report), "nccl.watchdog.mismatch"));
  report.timeouts = {timeout(0, 9, "ALLREDUCE"), timeout(4, 9, "ALLREDUCE")};
  report.timeouts[1].elements_in = 2048;
  report.timeouts[0].group = report.timeouts[1].group = "1";
  report.timeouts[0].guid = "1(tp)";
  report.timeouts[1].guid = "2(tp)";
  EXPECT_TRUE(held(with_watchdog(report), "nccl.watchdog.mismatch"));
}
TEST(NcclWatchdogMismatch, UndecidedWhenOneRankSpeaks) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 41, "ALLREDUCE")};
  EXPECT_EQ(undecided_of(with_watchdog(report), "nccl.watchdog.mismatch").size(), 1U);
}

model::WatchdogReport with_exception(std::string result, std::string last) {
  model::WatchdogReport report;
  report.errors.push_back({model::WatchdogErrorKind::kNccl, 5, std::move(result), std::move(last), "2.21.5",
                           "DistBackendError: NCCL error in: x", line(4), line(7)});
  return report;
}
TEST(NcclWatchdogError, FiresWithTheLastError) {
  const auto found =
      findings_of(with_watchdog(with_exception("ncclSystemError", "Connect to 192.0.2.4<1> failed")),
                  "nccl.watchdog.error");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NCCL failed in rank 5: Connect to 192.0.2.4<1> failed");
}
TEST(NcclWatchdogError, SilentWhereNcclsOwnWarningsSayMore) {
  NcclEvidence evidence;
  evidence.places.add("job.log");
  evidence.watchdog = with_exception("ncclSystemError", "failed");
  evidence.log = healthy_log();
  add_event(*evidence.log, NcclEventKind::kSharedMemory, "no space");
  EXPECT_TRUE(held(with_evidence(std::move(evidence)), "nccl.watchdog.error"));
}
TEST(NcclWatchdogError, UndecidedWithoutAnyReason) {
  EXPECT_EQ(undecided_of(with_watchdog(with_exception("", "")), "nccl.watchdog.error").size(), 1U);
}

TEST(NcclWatchdogStuck, FiresAndNamesTheRanks) {
  model::WatchdogReport report;
  report.errors = {error(model::WatchdogErrorKind::kHeartbeat, 0, "", "watchdog got stuck for 480 seconds"),
                   error(model::WatchdogErrorKind::kHeartbeat, 5, "", "watchdog got stuck for 480 seconds")};
  EXPECT_EQ(findings_of(with_watchdog(report), "nccl.watchdog.stuck").at(0).title,
            "PyTorch's watchdog of ranks 0,5 was itself stuck: a call of CUDA or NCCL does not return");
}
TEST(NcclWatchdogStuck, SilentOnTimeouts) {
  model::WatchdogReport report;
  report.timeouts = {timeout(0, 41, "ALLREDUCE")};
  EXPECT_TRUE(held(with_watchdog(report), "nccl.watchdog.stuck"));
}
TEST(NcclWatchdogStuck, UndecidedNever) {
  // no undecided: the line is there or it is not
  EXPECT_TRUE(held(with_watchdog({}), "nccl.watchdog.stuck"));
}

TEST(NcclRanksUnjoined, FiresWithTheCountOfTheStore) {
  model::WatchdogReport report;
  report.errors = {error(model::WatchdogErrorKind::kUnjoined, 5, "15/16",
                         "DistStoreError: Timed out after 601 seconds waiting for clients. 15/16 joined")};
  EXPECT_EQ(findings_of(with_watchdog(report), "nccl.ranks.unjoined").at(0).title,
            "The job never started: 15/16 processes came to PyTorch's rendezvous");
}
TEST(NcclRanksUnjoined, SilentWhenAllCame) {
  model::WatchdogReport report;
  report.errors = {error(model::WatchdogErrorKind::kUnjoined, {}, "16/16", "16/16 clients joined")};
  EXPECT_TRUE(held(with_watchdog(report), "nccl.ranks.unjoined"));
}
TEST(NcclRanksUnjoined, UndecidedNever) {
  // no undecided: the line is there or it is not
  EXPECT_TRUE(held(with_watchdog({}), "nccl.ranks.unjoined"));
}

TEST(NcclRanksKilled, FiresWithTheTaskAndItsHost) {
  model::WatchdogReport report;
  report.errors = {
      error(model::WatchdogErrorKind::kKilled, 9, "Killed", "srun: error: node-b: task 9: Killed")};
  report.errors[0].host = "node-b";
  const auto found = findings_of(with_watchdog(report), "nccl.ranks.killed");
  EXPECT_EQ(found.at(0).title, "Task 9 on node-b ended first: Killed");
  EXPECT_EQ(found[0].devices, (std::vector<std::string>{"node-b"}));
  EXPECT_TRUE(contains(found[0].fixes.at(0).text, "on node-b"));
}
TEST(NcclRanksKilled, SilentOnExceptions) {
  EXPECT_TRUE(held(with_watchdog(with_exception("ncclSystemError", "failed")), "nccl.ranks.killed"));
}
TEST(NcclRanksKilled, UndecidedNever) {
  // no undecided: the line is there or it is not
  EXPECT_TRUE(held(with_watchdog({}), "nccl.ranks.killed"));
}

}  // namespace
}  // namespace angio::diagnose
