// Ranks against each other. Each test breaks a healthy job in one thing.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "diagnose/rules/nccl_test_logs.hpp"

namespace angio::diagnose {
namespace {

using namespace angio::test;  // NOLINT(google-build-using-namespace)

TEST(NcclVersionMixed, FiresAndSaysWhoHasWhich) {
  NcclLog log = healthy_log();
  log.processes[3].version = "2.21.5";
  const auto found = findings_of(with_log(log), "nccl.version.mixed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].text, "NCCL 2.21.5 in 1 process, first rank 3 on node-b");
  EXPECT_EQ(found[0].evidence[1].text, "NCCL 2.28.9 in 3 processes, first rank 0 on node-a");
}
TEST(NcclVersionMixed, FiresOnNcclsOwnWarning) {
  const Machine machine = with_event(NcclEventKind::kVersionMismatch, "Mismatched NCCL version detected");
  EXPECT_EQ(findings_of(machine, "nccl.version.mixed").size(), 1U);
}
TEST(NcclVersionMixed, FiresAndCountsWhatRanksSaidBeyondTheFirst) {
  NcclLog log = healthy_log();
  log.processes[3].version = "2.21.5";
  for (std::uint32_t i = 0; i < 8; ++i)
    add_event(log, NcclEventKind::kVersionMismatch, "Mismatched NCCL version detected", 70 + i, i % 4);
  const auto found = findings_of(with_log(log), "nccl.version.mixed");
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].evidence.size(), 6U);
  EXPECT_EQ(found[0].evidence[3].text, "and 5 more like these");
  EXPECT_EQ(found[0].evidence[4].text, "NCCL 2.21.5 in 1 process, first rank 3 on node-b");
}
TEST(NcclVersionMixed, SilentOnOneVersion) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.version.mixed"));
}
TEST(NcclVersionMixed, UndecidedWithoutAnyVersion) {
  NcclLog log = healthy_log();
  for (model::NcclProcess& process : log.processes)
    process.version.clear();
  EXPECT_EQ(undecided_of(with_log(log), "nccl.version.mixed").size(), 1U);
}

TEST(NcclSettingsDiffer, FiresOnAnAlgorithmThatOneNodeHas) {
  NcclLog log = healthy_log();
  log.settings.push_back(setting("NCCL_ALGO", "Ring", {0, 1}));
  log.settings.push_back(setting("NCCL_ALGO", "Tree", {2, 3}));
  const auto found = findings_of(with_log(log), "nccl.settings.differ");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "NCCL_ALGO differs between the ranks of one job");
  EXPECT_TRUE(contains(found[0].evidence[1].text, "NCCL_ALGO=Tree"));
  EXPECT_TRUE(contains(found[0].evidence[1].text, "first rank 2 on node-b"));
}
TEST(NcclSettingsDiffer, SilentOnNamesThatMayDiffer) {
  NcclLog log = healthy_log();
  log.settings.push_back(setting("NCCL_SOCKET_IFNAME", "eth0", {0, 1}));
  log.settings.push_back(setting("NCCL_SOCKET_IFNAME", "ens3", {2, 3}));
  EXPECT_TRUE(held(with_log(log), "nccl.settings.differ"));
}
TEST(NcclSettingsDiffer, UndecidedWithoutSettings) {
  EXPECT_EQ(undecided_of(with_log(healthy_log()), "nccl.settings.differ").at(0).collect,
            "NCCL_DEBUG_SUBSYS=INIT,ENV");
}

TEST(NcclRanksDuplicateGpu, FiresAndNamesBothRanks) {
  NcclLog log = healthy_log();
  NcclEvent& event = add_event(log, NcclEventKind::kDuplicateGpu,
                               "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1b000");
  event.rank_a = 0;
  event.rank_b = 1;
  const auto found = findings_of(with_log(log), "nccl.ranks.duplicate-gpu");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "Ranks 0 and 1 were given the same GPU");
}
TEST(NcclRanksDuplicateGpu, FiresAndCountsTheLinesThatItLeavesOut) {
  NcclLog log = healthy_log();
  for (std::uint32_t i = 0; i < 8; ++i)
    add_event(log, NcclEventKind::kDuplicateGpu, "Duplicate GPU detected", 70 + i, i % 4);
  const auto found = findings_of(with_log(log), "nccl.ranks.duplicate-gpu");
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].evidence.size(), 6U);
  EXPECT_EQ(found[0].evidence.back().text, "and 3 more like these");
}
TEST(NcclRanksDuplicateGpu, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.ranks.duplicate-gpu"));
}
TEST(NcclRanksDuplicateGpu, UndecidedWhenOnlyWarningsArePrinted) {
  NcclLog log;
  log.places.add("rank0.log");
  log.warn_lines = 3;
  EXPECT_EQ(undecided_of(with_log(log), "nccl.ranks.duplicate-gpu").size(), 1U);
}

NcclLog with_calls() {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks) {
    for (std::uint64_t op = 0; op < 3; ++op) {
      model::NcclCall call;
      call.op_count = op;
      call.function = "AllReduce";
      call.count = 1024;
      call.datatype = 7;
      call.source = line(static_cast<std::uint32_t>(80 + 4 * op + *rank.rank));
      rank.calls.first.push_back(call);
      rank.calls.last.push_back(call);
      rank.calls.blocks.push_back({op, 1, 77 + op, call.source});
      ++rank.calls.collectives;
    }
  }
  return log;
}
TEST(NcclCallsMismatch, FiresOnTheFirstDifferentCall) {
  NcclLog log = with_calls();
  for (auto* calls : {&log.communicators[0].ranks[2].calls.first, &log.communicators[0].ranks[2].calls.last})
    (*calls)[1].count = 512;
  log.communicators[0].ranks[2].calls.blocks[1].hash = 5;
  const auto found = findings_of(with_log(log), "nccl.calls.mismatch");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "first at operation 1")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text + found[0].evidence[1].text, "AllReduce of 512 elements"));
}
TEST(NcclCallsMismatch, SilentOnEqualCalls) {
  EXPECT_TRUE(held(with_log(with_calls()), "nccl.calls.mismatch"));
}
TEST(NcclCallsMismatch, UndecidedAfterAFailureWithoutCalls) {
  const Machine machine = with_event(NcclEventKind::kCudaFailure, "Cuda failure 2");
  EXPECT_TRUE(contains(undecided_of(machine, "nccl.calls.mismatch").at(0).collect, "COLL"));
}

NcclLog half_started() {
  NcclLog log = healthy_log();
  log.communicators[0].ranks.pop_back();
  for (model::NcclRank& rank : log.communicators[0].ranks) {
    rank.state = model::NcclRankState::kStarted;
    rank.completed = {};
  }
  return log;
}
TEST(NcclRanksMissing, FiresAndNamesTheRankThatNeverSpoke) {
  NcclLog log = half_started();
  add_event(log, NcclEventKind::kBootstrapTimeout, "timed out");
  const auto found = findings_of(with_log(log), "nccl.ranks.missing");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "Init never ended: rank 3 of 4 never spoke, the others wait for them");
}
NcclLog all_started() {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.state = model::NcclRankState::kStarted;
  return log;
}
TEST(NcclRanksMissing, SilentWhenAllRanksSpokeAndAFailureTellsTheCause) {
  NcclLog log = all_started();
  add_event(log, NcclEventKind::kSharedMemory, "no space");
  EXPECT_TRUE(held(with_log(log), "nccl.ranks.missing"));
}
TEST(NcclRanksMissing, FiresAsARemarkWhereOnlyEchoesTellOfAFailure) {
  NcclLog log = all_started();
  add_event(log, NcclEventKind::kConnectionClosed, "Connection closed by remote peer");
  EXPECT_EQ(findings_of(with_log(log), "nccl.ranks.missing").at(0).severity, model::Severity::kInfo);
}
TEST(NcclRanksMissing, SilentWhenInitEnded) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.ranks.missing"));
}
TEST(NcclRanksMissing, UndecidedWhenTheLogMayBeCut) {
  const auto gaps = undecided_of(with_log(half_started()), "nccl.ranks.missing");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_TRUE(contains(gaps[0].missing, "of rank 3 there is no line")) << gaps[0].missing;
}

TEST(NcclInitSlow, FiresAndNamesTheLongestPart) {
  NcclLog log = healthy_log();
  log.communicators[0].ranks[1].init_seconds = 95;
  log.communicators[0].ranks[1].init_parts = {{"bootstrap", 80}, {"topo", 3}};
  const auto found = findings_of(with_log(log), "nccl.init.slow");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "Init took 95 s for 4 ranks, 80 s of it in bootstrap");
  EXPECT_TRUE(contains(found[0].fixes[0].text, "fast interface"));
}
TEST(NcclInitSlow, SilentOnAFastStart) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.init.slow"));
}
TEST(NcclInitSlow, UndecidedBefore222) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.init_seconds.reset();
  EXPECT_EQ(undecided_of(with_log(log), "nccl.init.slow").size(), 1U);
}

TEST(NcclDebugLeftOn, FiresOnTraces) {
  NcclLog log = healthy_log();
  log.trace_lines = 5000;
  EXPECT_EQ(findings_of(with_log(log), "nccl.debug.left-on").at(0).severity, model::Severity::kWarning);
}
TEST(NcclDebugLeftOn, SilentOnInfo) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.debug.left-on"));
}
TEST(NcclDebugLeftOn, UndecidedNever) {
  // no undecided: the lines are there or they are not
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.debug.left-on"));
}

}  // namespace
}  // namespace angio::diagnose
