#include "dryrun/result.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.hpp"

namespace angio::dryrun {
namespace {

using nccl_run::ClusterEnd;
using nccl_run::ClusterOutcome;
using nccl_run::ClusterRequest;
using nccl_run::Collective;
using nccl_run::Operation;

// Two nodes of two ranks; rank 1 of a node drives device 0.
ClusterRequest request(const std::vector<Operation>& operations) {
  ClusterRequest wanted;
  wanted.library.path = "/opt/nccl/libnccl.so.2";
  wanted.library.version = "2.28.9+cuda13.0";
  wanted.library.runtime = nccl_run::Runtime::kInside;
  wanted.operations = operations;
  wanted.environment = {{"NCCL_ALGO", "Ring"}};
  for (int node = 0; node < 2; ++node) {
    nccl_run::NodeRequest one;
    one.devices = {1, 0};
    one.hardware.nets.resize(2);
    one.hardware.nets[0].name = "mlx9_0";
    one.hardware.nets[1].name = "mlx9_1";
    wanted.nodes.push_back(std::move(one));
  }
  return wanted;
}

ClusterOutcome outcome(std::size_t operations) {
  ClusterOutcome ended;
  ended.nodes.resize(2);
  ended.seconds = 2.5;
  ended.peak_memory = 1000;
  for (std::size_t node = 0; node < 2; ++node) {
    auto& reports = ended.nodes[node].reports;
    reports.loaded.emplace();
    reports.loaded->version = 22809;
    reports.loaded->redirect_ms = 0.5 + static_cast<double>(node);
    reports.init = nccl_run::InitReport{0.25 + static_cast<double>(node)};
    reports.memory = {{1, 100 + node, 200, 10}, {0, 300 + node, 400, 20}};
    for (std::uint32_t index = 0; index < operations; ++index)
      reports.operations.push_back({index, 10.0 + index, 1.5, "ncclDevKernel_X", 4, 512});
  }
  return ended;
}

std::string init_lines(std::uint32_t nranks = 4) {
  std::string text;
  for (std::uint32_t rank = 0; rank < nranks; ++rank) {
    const std::string pid = rank < 2 ? "100" : "200";
    text += "n0:" + pid + ":" + pid + " [0] NCCL INFO ncclCommInitRank comm 0x" +
            std::to_string(7000 + rank) + " rank " + std::to_string(rank) + " nranks " +
            std::to_string(nranks) + " cudaDev 0 nvmlDev 0 busId 10000 commId 0xabc - Init COMPLETE\n";
  }
  return text;
}

// The thread that speaks is rank 0's.
std::string said(std::string_view text) {
  return "n0:100:100 [0] NCCL INFO " + std::string(text) + "\n";
}

std::string rank_zero_again() {
  return "n0:100:100 [0] NCCL INFO ncclCommInitRank comm 0x7000 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId "
         "10000 "
         "commId 0xabc - Init COMPLETE\n";
}

TEST(DryRunResult, JoinsOperationsWithTheirChoices) {
  const std::vector<Operation> operations{
      {Collective::kAllReduce, 8}, {Collective::kAllReduce, 1024}, {Collective::kAllGather, 1024}};
  LogTaker log;
  log.feed(0, init_lines());
  log.feed(0, rank_zero_again());
  const std::vector<std::string> choices{
      "AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}",
      "AllReduce: 1024 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}",
      "AllGather: 1024 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={2..3}"};
  for (std::uint32_t index = 0; index < 3; ++index) {
    log.feed(0, nccl_run::operation_mark(index, operations[index]) + "\n");
    log.feed(1, "a line of the other node\n");
    log.feed(0, said(choices[index]));
  }
  const model::DryRun run = make_result(request(operations), outcome(3), std::move(log));
  ASSERT_EQ(run.operations.size(), 3U);
  EXPECT_EQ(run.operations[0].algorithm, "TREE");
  EXPECT_EQ(run.operations[0].channels, 1U);
  EXPECT_EQ(run.operations[1].protocol, "LL128");
  EXPECT_EQ(run.operations[1].channels, 8U);
  EXPECT_EQ(run.operations[2].collective, "AllGather");
  EXPECT_EQ(run.operations[2].channels, 2U);
  EXPECT_EQ(run.operations[2].kernel, "ncclDevKernel_X");
  EXPECT_EQ(run.operations[2].grid, 4U);
  EXPECT_EQ(run.operations[2].estimate_us, 12.0);
  EXPECT_TRUE(run.operations[2].reached);
  EXPECT_TRUE(run.notes.empty()) << run.notes[0];
}

TEST(DryRunResult, TellsTheRun) {
  LogTaker log;
  log.feed(0, init_lines());
  const model::DryRun run = make_result(request({}), outcome(0), std::move(log));
  EXPECT_EQ(run.nccl, "2.28.9+cuda13.0");
  EXPECT_EQ(run.way, "entries redirected");
  EXPECT_EQ(run.nodes, 2U);
  EXPECT_EQ(run.ranks_per_node, (std::vector<std::uint32_t>{2, 2}));
  EXPECT_EQ(run.net, "phantom");
  EXPECT_EQ(run.settings[0].second, "Ring");
  EXPECT_EQ(run.end, model::DryRunEnd::kComplete);
  EXPECT_DOUBLE_EQ(run.init_seconds, 1.25);
  EXPECT_DOUBLE_EQ(run.redirect_ms, 1.5);
  EXPECT_EQ(run.peak_memory, 1000U);
  ASSERT_TRUE(run.evidence.log);
  ASSERT_EQ(run.evidence.log->communicators.size(), 1U);
  EXPECT_EQ(run.evidence.log->communicators[0].ranks.size(), 4U);
}

TEST(DryRunResult, ATransferThatFailedIsNoCompleteRun) {
  LogTaker log;
  log.feed(0, init_lines());
  log.feed(
      0,
      "node0:10:20 [0] transport/net_ib.cc:2105 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<4242> "
      "with status=12 opcode=0 len=0 vendor err 129 (Send) hca rxe0\n");
  const model::DryRun run = make_result(request({}), outcome(0), std::move(log));
  EXPECT_EQ(run.end, model::DryRunEnd::kFailed);
  EXPECT_NE(run.problem.find("status=12"), std::string::npos) << run.problem;
}

TEST(DryRunResult, MemoryGoesToTheRankOfTheDevice) {
  LogTaker log;
  const model::DryRun run = make_result(request({}), outcome(0), std::move(log));
  ASSERT_EQ(run.memory.size(), 4U);
  EXPECT_EQ(run.memory[0].rank, 0U);  // device 1 of node 0
  EXPECT_EQ(run.memory[0].after_init, 100U);
  EXPECT_EQ(run.memory[1].after_init, 300U);
  EXPECT_EQ(run.memory[3].rank, 3U);
  EXPECT_EQ(run.memory[3].after_init, 301U);
  EXPECT_EQ(run.memory[3].host, 20U);
}

// Up to 2.21 the line has no collective: its place behind the mark tells.
TEST(DryRunResult, OldChoicesAreTheMarks) {
  const std::vector<Operation> operations{{Collective::kAllReduce, 1024},
                                          {Collective::kAllToAll, 1024},
                                          {Collective::kAllGather, 1024},
                                          {Collective::kAllReduce, 1024}};
  LogTaker log;
  log.feed(0, init_lines());
  log.feed(0, rank_zero_again());
  log.feed(0, nccl_run::operation_mark(0, operations[0]) + "\n");
  log.feed(0, said("1024 Bytes -> Algo 0 proto 1 time 9.5"));
  log.feed(0, nccl_run::operation_mark(1, operations[1]) + "\n");
  log.feed(0, nccl_run::operation_mark(2, operations[2]) + "\n");
  log.feed(0, said("1024 Bytes -> Algo 1 proto 0 time 5.5"));
  log.feed(0, nccl_run::operation_mark(3, operations[3]) + "\n");
  log.feed(0, said("1024 Bytes -> Algo 0 proto 1 time 9.5"));
  const model::DryRun run = make_result(request(operations), outcome(4), std::move(log));
  EXPECT_EQ(run.operations[0].algorithm, "TREE");
  EXPECT_EQ(run.operations[0].protocol, "LL128");
  EXPECT_EQ(run.operations[0].channels, 4U);   // of the kernel's grid
  EXPECT_EQ(run.operations[1].algorithm, "");  // point to point has no choice
  EXPECT_FALSE(run.operations[1].channels);
  EXPECT_EQ(run.operations[2].algorithm, "RING");
  EXPECT_EQ(run.operations[3].algorithm, "TREE");  // the same line again is the same fact
}

TEST(DryRunResult, OperationsThatWereNotReachedHaveNoChoice) {
  const std::vector<Operation> operations{{Collective::kAllReduce, 8}, {Collective::kAllReduce, 8}};
  LogTaker log;
  log.feed(0, init_lines());
  log.feed(0, rank_zero_again());
  log.feed(0, nccl_run::operation_mark(0, operations[0]) + "\n");
  log.feed(0, said("AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}"));
  ClusterOutcome ended = outcome(1);
  ended.end = ClusterEnd::kCrashed;
  ended.problem = "node 1 was ended by SIGSEGV";
  ended.culprit = 1;
  ended.nodes[1].signal = 11;
  ended.nodes[1].last_lines = "the last line";
  ended.nodes[1].reports.failed = nccl_run::FailedReport{"ncclAllReduce", 3, "internal error"};
  const model::DryRun run = make_result(request(operations), ended, std::move(log));
  EXPECT_EQ(run.operations[0].algorithm, "RING");
  EXPECT_FALSE(run.operations[1].reached);
  EXPECT_EQ(run.operations[1].algorithm, "");
  EXPECT_EQ(run.end, model::DryRunEnd::kCrashed);
  EXPECT_EQ(run.culprit, 1U);
  EXPECT_EQ(run.last_lines, "the last line");
  EXPECT_EQ(run.result, 3);
  EXPECT_EQ(run.failed_call, "ncclAllReduce");
}

TEST(DryRunResult, SymmetricKernelsAreNamed) {
  const std::vector<Operation> operations{{Collective::kAllReduce, 4096}};
  LogTaker log;
  log.feed(0, init_lines());
  log.feed(0, rank_zero_again());
  log.feed(0,
           said("AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_X nchannels 4 nthreads 512 nWorks 1"));
  ClusterOutcome ended = outcome(1);
  ended.nodes[0].reports.operations[0].kernel.clear();
  const model::DryRun run = make_result(request(operations), ended, std::move(log));
  EXPECT_EQ(run.operations[0].algorithm, "SYMMETRIC");
  EXPECT_EQ(run.operations[0].kernel, "AllReduce_X");
}

std::string graph_of(const std::string& host, const std::vector<std::string>& nets) {
  std::vector<std::string> lines{"=== System : maxBw 24.0 totalBw 48.0 ===", "CPU/0-0 (1/1/2)",
                                 "+ PCI[24.0] - NIC/0-21000"};
  for (const std::string& net : nets)
    lines.push_back("              + NET[25.0] - " + net + " (0xa1/1/25.0)");
  lines.emplace_back("==========================================");
  std::string text;
  for (const std::string& line : lines)
    text += host + ":300:300 [0] NCCL INFO " + line + "\n";
  return text;
}

TEST(DryRunResult, NotesWhatWasRefusedDroppedAndNotSaid) {
  const std::vector<Operation> operations{{Collective::kAllReduce, 8}};
  LogTaker log;
  log.feed(0, init_lines());
  log.feed(0, rank_zero_again());
  for (const char* host : {"node0", "node1"})
    log.feed(0, graph_of(host, {"NET/0-0"}));
  ClusterOutcome ended = outcome(1);
  ended.nodes[1].reports.refused_calls = {"cudaGraphLaunch", "cudaBindTexture"};
  ended.nodes[0].reports.refused_calls = {"cudaGraphLaunch"};
  ended.notes = {"from below"};
  ClusterRequest wanted = request(operations);
  wanted.nodes[1].environment = {{"NCCL_IB_HCA", "mlx9_1"}};
  const model::DryRun run = make_result(wanted, ended, std::move(log));
  const auto has = [&](std::string_view part) {
    return std::ranges::any_of(run.notes, [&](const std::string& note) { return contains(note, part); });
  };
  EXPECT_TRUE(has("node 1 alone has NCCL_IB_HCA=mlx9_1"));
  EXPECT_TRUE(has("phantom GPUs refuse: cudaBindTexture, cudaGraphLaunch"));
  EXPECT_TRUE(has("NCCL's graph of node 0 and 1 other node lacks NICs that the node has: mlx9_1"));
  EXPECT_TRUE(
      has("NCCL 2.28.9 printed no choice of an algorithm for 1 of 1 operations: a size that NCCL rounds"));
  EXPECT_TRUE(has("from below"));
}

TEST(DryRunResult, EachNodeIsHeldAgainstItsOwnGraph) {
  LogTaker log;
  log.feed(0, init_lines());
  log.feed(0, graph_of("node0", {"NET/0-0", "NET/0-1"}));
  log.feed(1, graph_of("node1", {"NET/0-0"}));
  ClusterRequest wanted = request({});
  const model::DryRun run = make_result(wanted, outcome(0), std::move(log));
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_EQ(run.notes[0], "NCCL's graph of node 1 lacks NICs that the node has: mlx9_1");
  LogTaker again;
  again.feed(0, init_lines());
  again.feed(0, graph_of("node0", {"NET/0-0", "NET/0-1"}));
  again.feed(1, graph_of("node1", {"NET/0-0"}));
  wanted.nodes[1].hardware.nets.pop_back();
  EXPECT_TRUE(make_result(wanted, outcome(0), std::move(again)).notes.empty());
}

TEST(DryRunResult, ARankAloneHasNothingToChoose) {
  LogTaker log;
  log.feed(0, init_lines(1));
  ClusterRequest wanted = request({{Collective::kAllReduce, 8}});
  wanted.nodes.pop_back();
  wanted.nodes[0].devices = {0};
  EXPECT_TRUE(make_result(wanted, outcome(1), std::move(log)).notes.empty());
}

TEST(DryRunResult, OldReleasesPrintNoChoice) {
  LogTaker log;
  log.feed(0, init_lines());
  ClusterRequest wanted = request({{Collective::kAllReduce, 8}});
  wanted.library.version = "2.18.3+cuda12.1";
  const model::DryRun run = make_result(wanted, outcome(1), std::move(log));
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_TRUE(contains(run.notes[0], "only releases from 2.20")) << run.notes[0];
  EXPECT_EQ(run.operations[0].channels, 4U);
}

TEST(DryRunResult, NothingAtAllIsAResultToo) {
  LogTaker log;
  ClusterRequest wanted = request({{Collective::kAllReduce, 8}});
  wanted.library.version.clear();
  ClusterOutcome ended;
  ended.end = ClusterEnd::kInterrupted;
  ended.culprit = 7;
  const model::DryRun run = make_result(wanted, ended, std::move(log));
  EXPECT_EQ(run.end, model::DryRunEnd::kInterrupted);
  EXPECT_FALSE(run.evidence.log);
  EXPECT_FALSE(run.operations[0].reached);
  EXPECT_EQ(run.nccl, "");
}

TEST(DryRunResult, VersionComesFromTheLibraryItself) {
  LogTaker log;
  ClusterRequest wanted = request({});
  wanted.library.version.clear();
  EXPECT_EQ(make_result(wanted, outcome(0), std::move(log)).nccl, "2.28.9");
}

TEST(DryRunResult, HalfLinesOfADeadNodeDoNotSwallowOthers) {
  const std::vector<Operation> operations{{Collective::kAllReduce, 8}};
  LogTaker log;
  log.feed(1, "n0:200:200 [0] NCCL INFO cut off in the mid");
  log.feed(0, init_lines());
  log.feed(0, rank_zero_again());
  log.feed(0, nccl_run::operation_mark(0, operations[0]) + "\n");
  log.feed(0, said("8 Bytes -> Algo 1 proto 0 time 5.5"));
  const model::DryRun run = make_result(request(operations), outcome(1), std::move(log));
  EXPECT_EQ(run.operations[0].algorithm, "RING");
}

TEST(DryRunResult, MarksOfOtherNodesAndStrangeOnesDoNoHarm) {
  const std::vector<Operation> operations{{Collective::kAllReduce, 8}};
  LogTaker log;
  log.feed(0, init_lines());
  log.feed(0, rank_zero_again());
  log.feed(0, nccl_run::operation_mark(0, operations[0]) + "\n");
  log.feed(1, nccl_run::operation_mark(0, operations[0]) + "\n");
  log.feed(0, "angio dryrun: operation 4294967296 AllReduce 8 bytes\nangio dryrun: operation\n");
  log.feed(0, said("8 Bytes -> Algo 1 proto 0 time 5.5"));
  log.feed(0, "angio dryrun: operation 77 AllReduce 8 bytes\n");
  const model::DryRun run = make_result(request(operations), outcome(1), std::move(log));
  EXPECT_EQ(run.operations[0].algorithm, "RING");
}

}  // namespace
}  // namespace angio::dryrun
