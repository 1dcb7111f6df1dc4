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
TEST(NcclBootstrapConnect, FiresAsAFailureWhenItWasGivenUpAfterTheStart) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kConnectRefused, "connect refused, retrying (1/34)", 69).handled = true;
  add_event(log, NcclEventKind::kConnectTimeout, "connect refused, exceeded error retry count", 70).peer =
      "192.0.2.9<4001>";
  const auto found = findings_of(with_log(log), "nccl.bootstrap.connect");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(found[0].title,
            "A connection to 192.0.2.9<4001> was not made in time, after the communicator had come up");
}
TEST(NcclBootstrapConnect, FiresAsAFailureWhenTheFrameworkReportedAnError) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kConnectRefused, "connect refused, retrying (1/34)");
  EXPECT_EQ(findings_of(with_log(log), "nccl.bootstrap.connect").at(0).severity, model::Severity::kInfo);
  NcclEvidence evidence;
  evidence.log = log;
  evidence.watchdog.emplace().errors.emplace_back();
  const auto found = findings_of(with_evidence(std::move(evidence)), "nccl.bootstrap.connect");
  EXPECT_EQ(found.at(0).severity, model::Severity::kCritical);
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
model::Finding cuda_finding(std::int64_t number, const std::string& text,
                            const std::string& location = "init.cc:100") {
  NcclLog log = healthy_log();
  NcclEvent& event = add_event(log, NcclEventKind::kCudaFailure, text);
  event.number = number;
  event.location = location;
  const auto found = findings_of(with_log(log), "nccl.cuda.failure");
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? model::Finding{} : found[0];
}
TEST(NcclCudaFailure, FiresWithTheCureThatFitsTheNumberAndThePlace) {
  const auto first_fix = [](const model::Finding& finding) {
    return finding.fixes.empty() ? std::string() : finding.fixes[0].command;
  };
  const auto memory = cuda_finding(2, "Cuda failure 2 'out of memory'", "include/alloc.h:178");
  EXPECT_EQ(first_fix(memory), "nvidia-smi --query-compute-apps=pid,used_memory --format=csv");
  EXPECT_EQ(memory.fixes.size(), 2U);
  EXPECT_TRUE(contains(memory.disprove, "free memory")) << memory.disprove;
  EXPECT_EQ(first_fix(cuda_finding(802, "Cuda failure 802 'system not yet initialized'")),
            "systemctl status nvidia-fabricmanager");
  EXPECT_EQ(first_fix(cuda_finding(217, "Cuda failure 217 'peer access is not supported'")),
            "nvidia-smi topo -p2p r");
  const std::string unsupported = "Cuda failure 801 'operation not supported'";
  EXPECT_EQ(first_fix(cuda_finding(801, unsupported, "transport/nvls.cc:598")), "export NCCL_NVLS_ENABLE=0");
  EXPECT_EQ(first_fix(cuda_finding(801, unsupported)), "angio doctor");
  const auto ecc = cuda_finding(214, "Cuda failure 214 'uncorrectable ECC error encountered'");
  EXPECT_EQ(first_fix(ecc), "dmesg | grep -i xid");
  EXPECT_TRUE(contains(ecc.fixes.at(1).text, "Drain the node"));
  EXPECT_EQ(first_fix(cuda_finding(700, "Cuda failure 700 'an illegal memory access was encountered'")),
            "CUDA_LAUNCH_BLOCKING=1 compute-sanitizer COMMAND");
}
TEST(NcclCudaFailure, FiresOnceForEachCause) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kCudaFailure, "Cuda failure 'out of memory'");
  add_event(log, NcclEventKind::kCudaFailure, "Cuda failure 'an illegal memory access'", 71, 1);
  EXPECT_EQ(findings_of(with_log(log), "nccl.cuda.failure").size(), 2U);
}
TEST(NcclCudaFailure, FiresAndCountsTheLinesThatItLeavesOut) {
  NcclLog log = healthy_log();
  for (std::uint32_t i = 0; i < 16; ++i)
    add_event(log, NcclEventKind::kCudaFailure, "Cuda failure 2 'out of memory'", 70 + i, i % 4);
  const auto found = findings_of(with_log(log), "nccl.cuda.failure");
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].evidence.size(), 6U);
  EXPECT_EQ(found[0].evidence.back().text, "and 11 more like these");
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
TEST(NcclDriverUnfit, FiresOnAGpuThatIsNotFoundWithoutBlamingVersions) {
  const auto found =
      findings_of(with_event(NcclEventKind::kNvml, "nvmlDeviceGetHandleByPciBusId() failed: Not Found"),
                  "nccl.driver.unfit");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "NVML does not know a GPU that the job uses: lost, or hidden from this container");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "nvidia-smi -L; dmesg | grep -i xid");
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

TEST(NcclPeerClosed, FiresAsAWarningWhenTheOtherLogIsMissing) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kConnectionClosed, "Connection closed by remote peer node-b<4000>").peer =
      "node-b<4000>";
  const auto found = findings_of(with_log(log), "nccl.peer.closed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].title,
            "rank 0 on node-a lost node-b<4000>: it ended first, and the lines of node-b do not say why");
  log.events[0].peer = "node-z<4000>";
  EXPECT_EQ(
      findings_of(with_log(log), "nccl.peer.closed").at(0).title,
      "rank 0 on node-a lost node-z<4000>: it ended first, and no log of that node is among these files");
  log.events[0].peer = "198.51.100.7<4000>";
  EXPECT_EQ(findings_of(with_log(log), "nccl.peer.closed").at(0).title,
            "rank 0 on node-a lost 198.51.100.7<4000>: it ended first, and these files do not say why");
}
TEST(NcclPeerClosed, SilentOnWhatAProcessSeesAfterItHasEnded) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kConnectionClosed, "Connection closed by remote peer node-b<4000>").peer =
      "node-b<4000>";
  log.communicators[0].ranks[0].ended = line(68);
  EXPECT_TRUE(held(with_log(log), "nccl.peer.closed"));
  log.communicators[0].ranks[0].ended = line(72);  // before its end it is a loss
  EXPECT_EQ(findings_of(with_log(log), "nccl.peer.closed").size(), 1U);
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
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kOtherWarning, "Something new").result = 3;
  const auto found = findings_of(with_log(log), "nccl.warning.other");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  // Not passed on by NCCL's callers: it may be harmless.
  EXPECT_EQ(findings_of(with_event(NcclEventKind::kOtherWarning, "Something new"), "nccl.warning.other")
                .at(0)
                .severity,
            model::Severity::kInfo);
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
