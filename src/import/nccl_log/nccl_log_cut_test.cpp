// Logs that lost lines, and warnings that are no failures.
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

std::string info(std::string_view message, std::string_view at = "node-a:100:101 [0]") {
  return std::string(at) + " NCCL INFO " + std::string(message) + "\n";
}
std::string warn(std::string_view message, std::string_view at) {
  return std::string(at) + " NCCL WARN " + std::string(message) + "\n";
}

const model::NcclEvent& only_event(const model::NcclLog& log) {
  EXPECT_EQ(log.events.size(), 1U);
  static const model::NcclEvent kNothing;
  return log.events.empty() ? kNothing : log.events[0];
}

TEST(NcclLogCut, AWarningThatIsNotPassedOnIsNoFailure) {
  const std::string harmless =
      warn("Could not find real path of /sys/class/net/eth9/device", "n:1:1 [0] graph/xml.cc:500");
  EXPECT_EQ(model::find_earliest_failure(parse(harmless)), nullptr);
  const auto log = parse(harmless + warn("socketProgress: Connection closed by remote peer m<1>",
                                         "n:1:1 [0] misc/socket.cc:50"));
  ASSERT_NE(model::find_earliest_failure(log), nullptr);
  EXPECT_EQ(model::find_earliest_failure(log)->kind, NcclEventKind::kConnectionClosed);
  const auto passed_on =
      parse(warn("something new", "n:1:1 [0] init.cc:5") + info("init.cc:7 -> 3", "n:1:1 [0]"));
  ASSERT_NE(model::find_earliest_failure(passed_on), nullptr);
  EXPECT_EQ(model::find_earliest_failure(passed_on)->kind, NcclEventKind::kOtherWarning);
}

TEST(NcclLogCut, AHostWithoutARouteIsAConnectionThatFailed) {
  const auto log = parse(warn("socketStartConnect: Connect to 10.0.0.7<40123> failed : No route to host",
                              "n:1:1 [0] misc/socket.cc:484"));
  EXPECT_EQ(only_event(log).kind, NcclEventKind::kConnectRefused);
  EXPECT_EQ(only_event(log).peer, "10.0.0.7<40123>");
  EXPECT_EQ(only_event(log).number, 113);
}

TEST(NcclLogCut, ABareLineIsOfTheProcessThatSpokeBefore) {
  const auto log =
      parse(info("cudaDriverVersion 12040", "n:2:2 [1]") + info("cudaDriverVersion 12040", "n:1:1 [0]") +
            "NCCL version 2.21.5+cuda12.4\n" + info("Using network IB", "n:2:2 [1]"));
  ASSERT_EQ(log.processes.size(), 2U);
  EXPECT_EQ(log.processes[0].version, "");
  EXPECT_EQ(log.processes[1].version, "2.21.5");
  EXPECT_EQ(log.processes[1].version_source.line, 3U);
}

TEST(NcclLogCut, ALogOfOneVersionLineIsALog) {
  const auto log = parse("starting\nNCCL version 2.21.5+cuda12.4\n");
  ASSERT_EQ(log.versions.size(), 1U);
  EXPECT_EQ(log.files[0].nccl_lines, 1U);
  EXPECT_EQ(parse("we ran it with NCCL version 2.21.5\n").files[0].nccl_lines, 0U);
}

TEST(NcclLogCut, RanksWhoseStartIsCutAwayJoinTheirCommunicator) {
  const auto log =
      parse(info("comm 0xa0 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0", "n:1:1 [0]") +
            info("comm 0xa1 rank 1 nRanks 4 nNodes 2 localRanks 2 localRank 1 MNNVL 0", "n:2:2 [1]") +
            info("ncclCommInitRank comm 0xa2 rank 2 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x7d - "
                 "Init START",
                 "m:3:3 [0]"));
  ASSERT_EQ(log.communicators.size(), 1U);
  EXPECT_EQ(log.communicators[0].id, "0x7d");
  EXPECT_EQ(log.communicators[0].ranks.size(), 3U);
}

TEST(NcclLogCut, WhatRasSaysOfItsVersionIsNoLineOfALog) {
  EXPECT_EQ(parse("NCCL version 2.28.9 compiled with CUDA 13.0\n").files[0].nccl_lines, 0U);
}

}  // namespace
}  // namespace angio::import::nccl_log
