// What NCCL said itself when something failed. The log is healthy but for the line that a test adds.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "diagnose/rules/nccl_test_logs.hpp"

namespace angio::diagnose {
namespace {

using namespace angio::test;  // NOLINT(google-build-using-namespace)

std::string title_of(const Machine& machine, const std::string& rule) {
  const auto found = findings_of(machine, rule);
  return found.empty() ? std::string() : found[0].title;
}

TEST(NcclShmTooSmall, FiresOnTheLine) {
  const Machine machine = with_event(NcclEventKind::kSharedMemory,
                                     "Error: failed to extend /dev/shm/nccl-AbCdEf to 9637892 bytes");
  const auto found = findings_of(machine, "nccl.shm.too-small");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "/dev/shm")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclShmTooSmall, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.shm.too-small"));
}
TEST(NcclShmTooSmall, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.shm.too-small"));
}

TEST(NcclNvlsFailed, FiresOnTheLine) {
  const Machine machine =
      with_event(NcclEventKind::kNvls,
                 "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 1");
  const auto found = findings_of(machine, "nccl.nvls.failed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "multicast")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclNvlsFailed, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.nvls.failed"));
}
TEST(NcclNvlsFailed, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.nvls.failed"));
}

TEST(NcclMnnvlImex, FiresOnTheLine) {
  const Machine machine = with_event(NcclEventKind::kMnnvlImex,
                                     "MNNVL (cliqueSize 8) is available but not working on some system");
  const auto found = findings_of(machine, "nccl.mnnvl.imex");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "IMEX")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclMnnvlImex, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.mnnvl.imex"));
}
TEST(NcclMnnvlImex, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.mnnvl.imex"));
}

TEST(NcclBootstrapConnect, FiresWhenTheCommunicatorNeverCameUp) {
  NcclLog log = healthy_log();
  for (model::NcclRank& rank : log.communicators[0].ranks)
    rank.completed = {};
  add_event(log, NcclEventKind::kConnectRefused,
            "Call to connect to 192.0.2.9<4001> failed : Connection refused");
  const auto found = findings_of(with_log(log), "nccl.bootstrap.connect");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_TRUE(contains(found[0].title, "refused"));
}
TEST(NcclBootstrapConnect, FiresAsARemarkWhenItCameUpAllTheSame) {
  const Machine machine =
      with_event(NcclEventKind::kNameResolution, "error encountered when getting address info");
  EXPECT_EQ(findings_of(machine, "nccl.bootstrap.connect").at(0).severity, model::Severity::kInfo);
}
TEST(NcclBootstrapConnect, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.bootstrap.connect"));
}
TEST(NcclBootstrapConnect, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.bootstrap.connect"));
}

TEST(NcclBootstrapStray, FiresOnTheLine) {
  const Machine machine =
      with_event(NcclEventKind::kMessageTruncated, "Message truncated : received 1024 bytes instead of 256");
  const auto found = findings_of(machine, "nccl.bootstrap.stray");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "different steps")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclBootstrapStray, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.bootstrap.stray"));
}
TEST(NcclBootstrapStray, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.bootstrap.stray"));
}

TEST(NcclCudaFailure, FiresOnTheLine) {
  const Machine machine =
      with_event(NcclEventKind::kCudaFailure, "Cuda failure 700 'an illegal memory access was encountered'");
  const auto found = findings_of(machine, "nccl.cuda.failure");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "illegal memory access")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclCudaFailure, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.cuda.failure"));
}
TEST(NcclCudaFailure, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.cuda.failure"));
}

TEST(NcclTransportNone, FiresOnTheLine) {
  const Machine machine =
      with_event(NcclEventKind::kNoTransport, "No transport found for rank 0[0] -> rank 1[1]");
  const auto found = findings_of(machine, "nccl.transport.none");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "no way")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclTransportNone, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.transport.none"));
}
TEST(NcclTransportNone, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.transport.none"));
}

TEST(NcclTopologyTooLarge, FiresOnTheLine) {
  const Machine machine = with_event(NcclEventKind::kTopologyLimit, "Error : too many XML nodes (max 256)");
  const auto found = findings_of(machine, "nccl.topology.too-large");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "more elements")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclTopologyTooLarge, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.topology.too-large"));
}
TEST(NcclTopologyTooLarge, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.topology.too-large"));
}

TEST(NcclGraphSimpleOrder, FiresOnTheLine) {
  const Machine machine =
      with_event(NcclEventKind::kNoPath, "Could not find a path for pattern 4, falling back to simple order");
  const auto found = findings_of(machine, "nccl.graph.simple-order");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "plain order")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclGraphSimpleOrder, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.graph.simple-order"));
}
TEST(NcclGraphSimpleOrder, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.graph.simple-order"));
}

TEST(NcclDriverUnfit, FiresOnTheLine) {
  const Machine machine =
      with_event(NcclEventKind::kNvml, "nvmlInit_v2() failed: Driver/library version mismatch");
  const auto found = findings_of(machine, "nccl.driver.unfit");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "NVML")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclDriverUnfit, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.driver.unfit"));
}
TEST(NcclDriverUnfit, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.driver.unfit"));
}

TEST(NcclCallInvalid, FiresOnTheLine) {
  const Machine machine = with_event(NcclEventKind::kInvalidArgument,
                                     "AllReduce : invalid root 9 (root should be in the 0..4 range)");
  const auto found = findings_of(machine, "nccl.call.invalid");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "wrongly")) << found[0].title;
  EXPECT_TRUE(contains(found[0].evidence[0].text, "rank 0 on node-a: "));
  EXPECT_EQ(found[0].evidence[0].source, "rank0.log:70");
}
TEST(NcclCallInvalid, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.call.invalid"));
}
TEST(NcclCallInvalid, UndecidedNever) {
  // no undecided: NCCL prints the line at every level from WARN on; without a log the rule does not apply
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.call.invalid"));
}

TEST(NcclGidWrong, FiresOnAnEmptyGidAndOnUnreachablePeers) {
  NcclLog log = healthy_log();
  NcclEvent& event =
      add_event(log, NcclEventKind::kQpModify, "Call to ibv_modify_qp failed with 110 Connection timed out");
  event.number = 110;
  event.gid_index = 3;
  event.device = "mlx5_1:1";
  const auto found = findings_of(with_log(log), "nccl.gid.wrong");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "No way between two adapters: the queue pair on mlx5_1:1 could not reach its peer (GID index 3)");
  log.events[0].kind = NcclEventKind::kCompletionError;
  log.events[0].number.reset();
  log.events[0].local_gid = "::";
  EXPECT_TRUE(contains(title_of(with_log(log), "nccl.gid.wrong"), "is empty"));
}
TEST(NcclGidWrong, FiresOnContainersWithGapsInTheirGidTable) {
  const Machine machine = with_event(NcclEventKind::kOtherWarning,
                                     "NET/IB : read failed in ncclIbRoceGetVersionNum: Invalid argument");
  EXPECT_TRUE(contains(title_of(machine, "nccl.gid.wrong"), "RoCE version"));
}
TEST(NcclGidWrong, SilentOnOtherErrorsOfTheAdapter) {
  Machine machine = with_event(NcclEventKind::kCompletionError, "Got completion with status=12");
  EXPECT_TRUE(findings_of(machine, "nccl.gid.wrong").empty());
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.gid.wrong"));
}
TEST(NcclGidWrong, UndecidedWithoutErrno) {
  const auto gaps =
      undecided_of(with_event(NcclEventKind::kQpModify, "Call to ibv_modify_qp failed"), "nccl.gid.wrong");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_TRUE(contains(gaps[0].collect, "show_gids"));
}

TEST(NcclMemoryRegister, FiresOnEnomemAsTheLimitOfLockedMemory) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kRegisterMemory,
            "Call to ibv_reg_mr failed with error Cannot allocate memory")
      .number = 12;
  EXPECT_EQ(title_of(with_log(log), "nccl.memory.register"),
            "Memory could not be registered: the limit of locked memory is too small");
  log.events[0].kind = NcclEventKind::kQpCreate;
  EXPECT_TRUE(contains(title_of(with_log(log), "nccl.memory.register"), "queue pair"));
}
TEST(NcclMemoryRegister, FiresOnAnotherErrnoAsAnotherCause) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kRegisterMemory, "Call to ibv_reg_mr failed with error Bad address").number =
      14;
  EXPECT_TRUE(contains(title_of(with_log(log), "nccl.memory.register"), "errno 14"));
}
TEST(NcclMemoryRegister, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.memory.register"));
}
TEST(NcclMemoryRegister, UndecidedWithoutErrno) {
  EXPECT_EQ(undecided_of(with_event(NcclEventKind::kRegisterMemory, "Call to ibv_reg_mr failed"),
                         "nccl.memory.register")
                .size(),
            1U);
}

NcclLog with_completion(std::optional<int> status) {
  NcclLog log = healthy_log();
  NcclEvent& event =
      add_event(log, NcclEventKind::kCompletionError, "NET/IB : Got completion from peer 192.0.2.7<5000>");
  event.status = status;
  event.peer = "192.0.2.7<5000>";
  event.vendor_error = 129;
  return log;
}
TEST(NcclIbRetryExceeded, FiresAndNamesThePeer) {
  const auto found = findings_of(with_log(with_completion(12)), "nccl.ib.retry-exceeded");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_TRUE(contains(found[0].title, "rank 0 on node-a got no answer from 192.0.2.7<5000>"));
}
TEST(NcclIbRetryExceeded, FiresAndSaysWhenTheEndsAreOnDifferentRails) {
  NcclLog log = with_completion(12);
  log.events[0].local_gid = "::ffff:10.6.0.35";
  log.events[0].remote_gid = "::ffff:10.5.0.34";
  const auto found = findings_of(with_log(log), "nccl.ib.retry-exceeded");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].evidence.back().text, "10.6.0.x and 10.5.0.x"));
}
TEST(NcclIbRetryExceeded, SilentOnOtherStatuses) {
  EXPECT_TRUE(findings_of(with_log(with_completion(5)), "nccl.ib.retry-exceeded").empty());
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.ib.retry-exceeded"));
}
TEST(NcclIbRetryExceeded, UndecidedOnACutLine) {
  EXPECT_EQ(undecided_of(with_log(with_completion({})), "nccl.ib.retry-exceeded").size(), 1U);
}

TEST(NcclIbCompletionError, FiresWithTheMeaningOfTheStatus) {
  EXPECT_TRUE(
      contains(title_of(with_log(with_completion(13)), "nccl.ib.completion-error"), "no receive posted"));
}
TEST(NcclIbCompletionError, SilentOnRetriesAndFlushes) {
  EXPECT_TRUE(held(with_log(with_completion(12)), "nccl.ib.completion-error"));
  EXPECT_TRUE(held(with_log(with_completion(5)), "nccl.ib.completion-error"));
}
TEST(NcclIbCompletionError, UndecidedNever) {
  // no undecided: a line without status is nccl.ib.retry-exceeded's gap, asked for once
  EXPECT_TRUE(undecided_of(with_log(with_completion({})), "nccl.ib.completion-error").empty());
}

TEST(NcclIbFlushed, FiresAsAWarningWhenNothingElseIsThere) {
  const auto found = findings_of(with_log(with_completion(5)), "nccl.ib.flushed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
}
TEST(NcclIbFlushed, FiresAsARemarkThatNamesTheEarlierCause) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kAsyncPort, "NET/IB : mlx5_0:1 Got async event : port error", 65, 1);
  NcclEvent& echo = add_event(log, NcclEventKind::kCompletionError, "Got completion from peer", 70);
  echo.status = 5;
  const auto found = findings_of(with_log(log), "nccl.ib.flushed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_TRUE(contains(found[0].title, "rank0.log:65"));
}
TEST(NcclIbFlushed, SilentWithoutFlushes) {
  EXPECT_TRUE(held(with_log(with_completion(12)), "nccl.ib.flushed"));
}
TEST(NcclIbFlushed, UndecidedNever) {
  // no undecided: the line is there or it is not
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.ib.flushed"));
}

TEST(NcclIbPortEvent, FiresOnAFlappingLinkBeforeTheRetriesOfOthers) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kAsyncPort, "NET/IB : mlx5_0:1 Got async event : port error", 65).device =
      "mlx5_0:1";
  add_event(log, NcclEventKind::kCompletionError, "status 12", 70, 2).status = 12;
  const auto all = diagnose::diagnose(with_log(log)).findings;
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].rule, "nccl.ib.port-event");
  EXPECT_TRUE(contains(all[0].title, "on mlx5_0:1: the link flaps"));
}
TEST(NcclIbPortEvent, FiresAsAWarningOnChangedAddresses) {
  const auto found =
      findings_of(with_event(NcclEventKind::kAsyncOther, "Got non-fatal async event: GID table changed(18)"),
                  "nccl.ib.port-event");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
}
TEST(NcclIbPortEvent, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.ib.port-event"));
}
TEST(NcclIbPortEvent, UndecidedNever) {
  // no undecided: the adapter's events are always printed
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.ib.port-event"));
}

TEST(NcclPeerClosed, FiresAsAWarningWhenTheOtherLogIsMissing) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kConnectionClosed, "Connection closed by remote peer node-b<4000>").peer =
      "node-b<4000>";
  const auto found = findings_of(with_log(log), "nccl.peer.closed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_TRUE(contains(found[0].title, "lost node-b<4000>"));
}
TEST(NcclPeerClosed, FiresAsARemarkThatNamesRankAndLineOfTheFirstFailure) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kCudaFailure, "Cuda failure 2 'out of memory'", 66, 3);
  add_event(log, NcclEventKind::kConnectionClosed, "Connection closed by remote peer node-b<4000>", 70);
  const auto found = findings_of(with_log(log), "nccl.peer.closed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title,
            "Lost connections are an echo; the first failure is of rank 3 on node-b, rank0.log:66");
}
TEST(NcclPeerClosed, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.peer.closed"));
}
TEST(NcclPeerClosed, UndecidedNever) {
  // no undecided: a lost connection is always printed; whose fault it was is what the finding says is open
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.peer.closed"));
}

TEST(NcclAlgorithmUnavailable, FiresWithTheSettingsThatLeftNothing) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kOtherWarning,
            "Error : no algorithm/protocol available for function Broadcast with datatype ncclInt8. "
            "NCCL_ALGO was set to Tree.");
  log.settings.push_back(setting("NCCL_ALGO", "Tree"));
  const auto found = findings_of(with_log(log), "nccl.algorithm.unavailable");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].evidence.back().text, "NCCL_ALGO=Tree"));
  EXPECT_TRUE(findings_of(with_log(log), "nccl.warning.other").empty());
}
TEST(NcclAlgorithmUnavailable, SilentOnASettingThatServes) {
  NcclLog log = healthy_log();
  log.settings.push_back(setting("NCCL_ALGO", "Ring"));
  EXPECT_TRUE(held(with_log(log), "nccl.algorithm.unavailable"));
}
TEST(NcclAlgorithmUnavailable, UndecidedNever) {
  // no undecided: the call fails with this line or it does not
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.algorithm.unavailable"));
}

TEST(NcclSettingNotUnderstood, FiresOnAnUnknownWord) {
  const Machine machine =
      with_event(NcclEventKind::kInvalidSetting, "Unrecognized element token Coll when parsing Coll");
  EXPECT_TRUE(contains(title_of(machine, "nccl.setting.not-understood"), "Unrecognized element token"));
}
TEST(NcclSettingNotUnderstood, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.setting.not-understood"));
}
TEST(NcclSettingNotUnderstood, UndecidedNever) {
  // no undecided: NCCL says it or took the value
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.setting.not-understood"));
}

TEST(NcclWarningOther, FiresOnAWarningThatNoRuleKnows) {
  const auto found =
      findings_of(with_event(NcclEventKind::kOtherWarning, "Something new"), "nccl.warning.other");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
}
TEST(NcclWarningOther, FiresAsARemarkAfterAnotherFailure) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kCudaFailure, "Cuda failure 2", 60);
  add_event(log, NcclEventKind::kOtherWarning, "Something new", 70);
  EXPECT_EQ(findings_of(with_log(log), "nccl.warning.other").at(0).severity, model::Severity::kInfo);
}
TEST(NcclWarningOther, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.warning.other"));
}
TEST(NcclWarningOther, UndecidedNever) {
  // no undecided: the line is there or it is not
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.warning.other"));
}

TEST(NcclRules, AHealthyLogHasNoFinding) {
  for (const model::Finding& finding : diagnose::diagnose(with_log(healthy_log())).findings)
    ADD_FAILURE() << finding.rule << ": " << finding.title;
}
TEST(NcclRules, TheSameLogBesideAHealthyMachineHasNone) {
  for (const model::Finding& finding : diagnose::diagnose(with_log(healthy_log(), dgx_h100())).findings)
    if (finding.rule.starts_with("nccl.")) ADD_FAILURE() << finding.rule << ": " << finding.title;
}

}  // namespace
}  // namespace angio::diagnose
