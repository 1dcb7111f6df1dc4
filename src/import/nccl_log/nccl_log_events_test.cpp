// What a log says of failures: their kinds, their numbers, cause and echo.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "import/nccl_log/nccl_log.hpp"

namespace angio::import::nccl_log {
namespace {

using model::NcclEventKind;

model::NcclLog parse(std::string_view text) {
  return parse_log(text, "job.log");
}

// "node-a:100:101 [0] NCCL INFO <message>"
std::string info(std::string_view message, std::string_view at = "node-a:100:101 [0]") {
  return fmt::format("{} NCCL INFO {}\n", at, message);
}
std::string warn(std::string_view message,
                 std::string_view at = "node-a:100:101 [0] transport/net_ib.cc:812") {
  return fmt::format("{} NCCL WARN {}\n", at, message);
}

const model::NcclEvent& only_event(const model::NcclLog& log) {
  EXPECT_EQ(log.events.size(), 1U);
  static const model::NcclEvent kNothing;
  return log.events.empty() ? kNothing : log.events[0];
}

struct Warned {
  const char* message;
  NcclEventKind kind;
};

class NcclLogKinds : public testing::TestWithParam<Warned> {};

TEST_P(NcclLogKinds, AreKnownByTheirWords) {
  const auto log = parse(warn(GetParam().message));
  EXPECT_EQ(only_event(log).kind, GetParam().kind) << GetParam().message;
  EXPECT_TRUE(only_event(log).is_warning);
}

INSTANTIATE_TEST_SUITE_P(
    Facts, NcclLogKinds,
    testing::Values(
        Warned{"Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000",
               NcclEventKind::kDuplicateGpu},
        Warned{"Mismatched NCCL version detected : rank 0 running NCCL version 22809 rank 1 running NCCL "
               "version 22707",
               NcclEventKind::kVersionMismatch},
        Warned{"Cuda failure 2 'out of memory'", NcclEventKind::kCudaFailure},
        Warned{"Cuda failure 'invalid argument'", NcclEventKind::kCudaFailure},
        Warned{"socketStartConnect: Connect to 10.0.0.2<4000> failed : Connection refused",
               NcclEventKind::kConnectRefused},
        Warned{"Call to connect to 10.0.0.2<4000> failed : No route to host", NcclEventKind::kConnectRefused},
        Warned{"socketStartConnect: exceeded retries (20000)", NcclEventKind::kConnectTimeout},
        Warned{"socketPollConnect: connect to 10.0.0.2<4000> returned Connection timed out, exceeded error "
               "retry count after 35 attempts",
               NcclEventKind::kConnectTimeout},
        Warned{"socketProgress: Connection closed by remote peer node-2<4000>",
               NcclEventKind::kConnectionClosed},
        Warned{"Call to recv from 10.0.0.2<4000> failed : Connection reset by peer",
               NcclEventKind::kConnectionReset},
        Warned{"Bootstrap : no socket interface found", NcclEventKind::kNoInterface},
        Warned{"NET/IB : No IP interface found.", NcclEventKind::kNoInterface},
        Warned{"Message truncated : received 8 bytes instead of 4", NcclEventKind::kMessageTruncated},
        Warned{"socketFinalizeAccept: wrong magic 1 != 2", NcclEventKind::kWrongMagic},
        Warned{"Call to ibv_create_qp failed with error Cannot allocate memory errno 12",
               NcclEventKind::kQpCreate},
        Warned{"Call to ibv_reg_mr failed", NcclEventKind::kRegisterMemory},
        Warned{"NET/IB : mlx5_0:1 async fatal event: local catastrophic error", NcclEventKind::kAsyncFatal},
        Warned{"NET/IB : mlx5_0:1 Got async event : port error", NcclEventKind::kAsyncPort},
        Warned{"NET/IB : mlx5_0:1 Got non-fatal async event: GID table changed(18)",
               NcclEventKind::kAsyncOther},
        Warned{"NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)", NcclEventKind::kAsyncPort},
        Warned{"NET/IB : mlx5_0:1 GID table changed", NcclEventKind::kAsyncOther},
        Warned{"Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 1 'invalid "
               "argument'",
               NcclEventKind::kNvls},
        Warned{"MNNVL (cliqueSize 4) is available but not working on some system. Check the IMEX channel "
               "configuration",
               NcclEventKind::kMnnvlImex},
        Warned{"P2P is disabled between NVLINK connected GPUs 0 and 1.", NcclEventKind::kP2pDisabled},
        Warned{"No transport found for rank 0[1b000] -> rank 1[43000]", NcclEventKind::kNoTransport},
        Warned{"peer query failed between dev 0 and dev 1", NcclEventKind::kPeerQuery},
        Warned{"Failed to open libnvidia-ml.so.1", NcclEventKind::kNvml},
        Warned{"nvmlInit_v2() failed: Driver/library version mismatch", NcclEventKind::kNvml},
        Warned{"Could not find a path for pattern 4, falling back to simple order", NcclEventKind::kNoPath},
        Warned{"Could not open XML topology file /x.xml : No such file or directory",
               NcclEventKind::kTopologyFile},
        Warned{"[Service thread] Accept failed Resource temporarily unavailable",
               NcclEventKind::kServiceThread},
        Warned{"[Proxy Service 0] Failed to execute operation Setup from rank 0, retcode 2",
               NcclEventKind::kProxyEcho},
        Warned{"Net : error encountered when getting address info : Temporary failure in name resolution",
               NcclEventKind::kNameResolution},
        Warned{"the moon is full", NcclEventKind::kOtherWarning}));

TEST(NcclLogEvents, CompletionErrorsOfAllVersions) {
  struct Form {
    const char* text;
    const char* device;
  };
  for (const auto& [text, device] : std::vector<Form>{
           {"NET/IB : Got completion from peer 10.0.0.2<4000> with error 12, opcode 0, len 0, vendor err 129",
            ""},
           {"NET/IB: Got completion from peer 10.0.0.2<4000> with status=12 opcode=0 len=0 vendor err 129 "
            "(Recv) localGid ::1 remoteGids::2 hca mlx5_2",
            "mlx5_2"},
           {"NET/IB: Got completion from peer 10.0.0.2<4000> with status=IBV_WC_RETRY_EXC_ERR(12) "
            "opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 req_type=Recv hca mlx5_2",
            "mlx5_2"}}) {
    const auto log = parse(warn(text));
    const auto& event = only_event(log);
    EXPECT_EQ(event.kind, NcclEventKind::kCompletionError);
    EXPECT_EQ(event.status, 12);
    EXPECT_EQ(event.opcode, 0);
    EXPECT_EQ(event.vendor_error, 129U);
    EXPECT_EQ(event.peer, "10.0.0.2<4000>");
    EXPECT_EQ(event.device, device);
    EXPECT_EQ(event.location, "transport/net_ib.cc:812");
  }
}

TEST(NcclLogEvents, QueuePairsThatCannotChangeTellWhy) {
  const auto log =
      parse(warn("Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_4:1, curr state "
                 "INIT, next state RTR, local GID index 3, local "
                 "GID ::ffff:10.0.0.1, remote GID ::ffff:10.0.0.2",
                 "n:1:2 [0] transport/net_ib/connect.cc:77 (ncclIbRtrQp)"));
  const auto& event = only_event(log);
  EXPECT_EQ(event.kind, NcclEventKind::kQpModify);
  EXPECT_EQ(event.number, 110);
  EXPECT_EQ(event.device, "mlx5_4:1");
  EXPECT_EQ(event.gid_index, 3U);
  EXPECT_EQ(event.local_gid, "::ffff:10.0.0.1");
  EXPECT_EQ(event.remote_gid, "::ffff:10.0.0.2");
  EXPECT_EQ(event.function, "ncclIbRtrQp");
}

TEST(NcclLogEvents, NumbersOfOthers) {
  EXPECT_EQ(only_event(parse(warn("Cuda failure 2 'out of memory'"))).number, 2);
  EXPECT_EQ(only_event(parse(warn("Call to ibv_reg_mr failed with error Cannot allocate memory"))).number,
            12);
  const auto log = parse(warn(
      "Error: failed to extend /dev/shm/nccl-abc123 to 33030532 bytes, error: No space left on device (28)"));
  EXPECT_EQ(only_event(log).number, 28);
  EXPECT_EQ(only_event(log).bytes, 33030532U);
  const auto pair = parse(warn("Duplicate GPU detected : rank 3 and rank 1 both on CUDA device 1b000"));
  EXPECT_EQ(only_event(pair).rank_a, 3U);
  EXPECT_EQ(only_event(pair).rank_b, 1U);
}

TEST(NcclLogEvents, TheCauseComesBeforeItsEchoes) {
  const auto log = parse(
      "[2025-03-01 12:00:05] b:2:2 [0] misc/socket.cc:72 NCCL WARN socketProgress: Connection closed by "
      "remote peer a<1>\n"
      "b:2:2 [0] NCCL INFO misc/socket.cc:845 -> 6\n"
      "[2025-03-01 12:00:04] a:1:1 [0] transport/net_ib.cc:5 NCCL WARN Call to ibv_reg_mr failed\n"
      "a:1:1 [0] NCCL INFO transport/net_ib.cc:9 -> 2\na:1:1 [0] NCCL INFO init.cc:7 -> 2\n");
  ASSERT_EQ(log.events.size(), 4U);
  EXPECT_EQ(log.events[0].result, 6);
  EXPECT_EQ(log.events[3].count, 2U);
  EXPECT_EQ(log.events[3].number, 2);
  const auto* first = model::find_earliest_failure(log);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->kind, NcclEventKind::kRegisterMemory);
}

TEST(NcclLogEvents, WhatNcclHandlesIsNoFailure) {
  const auto log =
      parse(warn("Net : error encountered when getting address info : Temporary failure in name resolution",
                 "n:1:1 [0] misc/socket.cc:298") +
            info("ras/client_support.cc:170 -> 4", "n:1:1 [0]") +
            info("RAS failed to establish a client listening socket at localhost:28028", "n:1:1 [0]"));
  ASSERT_EQ(log.events.size(), 2U);
  EXPECT_TRUE(log.events[0].handled);
  EXPECT_EQ(model::find_earliest_failure(log), nullptr);
}

TEST(NcclLogEvents, AMillionEqualWarningsAreOne) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += warn(fmt::format("socketProgress: Connection closed by remote peer n{}<{}>", i % 7, i),
                 "n:1:1 [0] misc/socket.cc:72");
  const auto log = parse(text);
  EXPECT_EQ(only_event(log).count, 3000U);
  EXPECT_EQ(log.warn_lines, 3000U);
}

TEST(NcclLogEvents, PyTorchsLastErrorIsRead) {
  const auto log = parse(
      "[rank1]: NCCL error in: x.cpp:1, remote process exited or there was a network error, NCCL version "
      "2.20.5\n[rank1]: Last error:\n"
      "[rank1]: NET/IB : Got completion from peer 10.0.0.2<4000> with error 5, opcode 0, len 1, vendor err "
      "244 (Recv)\n");
  EXPECT_EQ(only_event(log).status, 5);
  EXPECT_FALSE(only_event(log).is_warning);
  ASSERT_EQ(log.versions.size(), 1U);
  EXPECT_EQ(log.versions[0].version, "2.20.5");
}

}  // namespace
}  // namespace angio::import::nccl_log
