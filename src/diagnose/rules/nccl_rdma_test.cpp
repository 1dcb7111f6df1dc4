// What NCCL and the adapters say of RDMA. The log is healthy but for the line that a test adds.
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
TEST(NcclGidWrong, FiresWithTheRailFirstWhenTheEndsAreInDifferentSubnets) {
  NcclLog log = healthy_log();
  NcclEvent& event = add_event(log, NcclEventKind::kQpModify, "Call to ibv_modify_qp failed with 110");
  event.number = 110;
  event.local_gid = "::ffff:192.0.2.35";
  event.remote_gid = "::ffff:198.51.100.34";
  const auto found = findings_of(with_log(log), "nccl.gid.wrong");
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].fixes.size(), 2U);
  EXPECT_EQ(found[0].fixes[0].command, "export NCCL_CROSS_NIC=0");
  EXPECT_EQ(found[0].fixes[1].command, "show_gids");
  log.settings.push_back(setting("NCCL_IB_GID_INDEX", "3"));
  EXPECT_EQ(findings_of(with_log(log), "nccl.gid.wrong").at(0).fixes.at(1).command,
            "unset NCCL_IB_GID_INDEX");
}
TEST(NcclGidWrong, FiresWithoutRailsOnAGidThatTheAdapterRefused) {
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kQpModify, "Call to ibv_modify_qp failed with error Invalid argument")
      .number = 22;
  const auto found = findings_of(with_log(log), "nccl.gid.wrong");
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "show_gids");
}
TEST(NcclGidWrong, FiresOnAnEmptyEntryByItsErrno) {
  NcclLog log = healthy_log();
  NcclEvent& event =
      add_event(log, NcclEventKind::kQpModify, "Call to ibv_modify_qp failed with 61 No data available");
  event.number = 61;
  event.gid_index = 9;
  event.device = "mlx5_0:1";
  EXPECT_EQ(title_of(with_log(log), "nccl.gid.wrong"),
            "The GID that NCCL uses on mlx5_0:1 is empty (GID index 9)");
}

NcclEvent& add_try(NcclLog& log, std::uint32_t number, bool handled) {
  NcclEvent& event = add_event(log, NcclEventKind::kQpModify,
                               handled ? "Call to ibv_modify_qp failed with 110 …, retrying 1/35"
                                       : "Call to ibv_modify_qp failed with 110 Connection timed out",
                               number);
  event.number = 110;
  event.handled = handled;
  event.device = "mlx5_1:1";
  event.local_gid = "::ffff:192.0.2.35";
  event.remote_gid = "::ffff:192.0.2.36";
  return event;
}
TEST(NcclGidWrong, FiresWithTheLastTryAndOrdinaryPacketsFirst) {
  NcclLog log = healthy_log();
  add_try(log, 70, true);
  add_try(log, 75, false);
  const auto found = findings_of(with_log(log), "nccl.gid.wrong");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kCritical);
  EXPECT_EQ(found[0].evidence.size(), 1U);
  EXPECT_TRUE(contains(found[0].evidence[0].source, "rank0.log:75"));
  ASSERT_EQ(found[0].fixes.size(), 3U);
  EXPECT_EQ(found[0].fixes[0].command, "ping -c 3 -I 192.0.2.35 192.0.2.36");
}
TEST(NcclGidWrong, FiresWhileItStillTries) {
  NcclLog log = healthy_log();
  add_try(log, 70, true);
  log.communicators[0].ranks[0].rings_source = line(60);  // of another connection, before
  EXPECT_EQ(findings_of(with_log(log), "nccl.gid.wrong").at(0).severity, model::Severity::kCritical);
}
TEST(NcclGidWrong, FiresAsARemarkWhenALaterTryWentWell) {
  NcclLog log = healthy_log();
  add_try(log, 70, true).count = 3;
  log.communicators[0].ranks[0].rings_source = line(80);
  const auto found = findings_of(with_log(log), "nccl.gid.wrong");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].title, "A queue pair on mlx5_1:1 reached its peer only after 3 failed tries");
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "ip neigh");
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
  NcclLog log = healthy_log();
  add_event(log, NcclEventKind::kQpModify, "Call to ibv_modify_qp failed with 5 Input/output error").number =
      5;
  const auto other = undecided_of(with_log(log), "nccl.gid.wrong");
  ASSERT_EQ(other.size(), 1U);
  EXPECT_TRUE(contains(other[0].missing, "errno 5 of ibv_modify_qp"));
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
TEST(NcclMemoryRegister, FiresWithTheCuresOfItsErrnoOnly) {
  const auto fixes = [](NcclEventKind kind, std::int64_t number) {
    NcclLog log = healthy_log();
    add_event(log, kind, "Call to the verb failed").number = number;
    const auto found = findings_of(with_log(log), "nccl.memory.register");
    std::string texts;
    for (const model::Fix& fix : found.at(0).fixes)
      texts += fix.text + "\n";
    return texts;
  };
  EXPECT_EQ(fixes(NcclEventKind::kRegisterMemory, 12), "Lift the limit where the job starts\n");
  EXPECT_EQ(fixes(NcclEventKind::kRegisterMemory, 14),
            "Errno 14 is not the limit: look at nvidia_peermem or DMA-BUF, and at the IOMMU\n");
  EXPECT_TRUE(contains(fixes(NcclEventKind::kQpCreate, 12), "Count the queue pairs"));
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
TEST(NcclIbRetryExceeded, FiresWithNumbersWhereManyPeersAndAdaptersAreMeant) {
  NcclLog log = healthy_log();
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    log.processes[rank].bootstrap_address = "192.0.2." + std::to_string(10 + rank) + "<0>";
    NcclEvent& event = add_event(log, NcclEventKind::kCompletionError, "status 12", 70 + rank, rank);
    event.status = 12;
    event.device = "mlx5_" + std::to_string(rank % 2);
    event.peer = "192.0.2." + std::to_string(10 + (rank + 2) % 4) + "<5000>";
  }
  const auto found = findings_of(with_log(log), "nccl.ib.retry-exceeded");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "4 processes got no answer on 2 adapters, each way between node-a and node-b: the packets or "
            "their acknowledgements are lost");
  EXPECT_TRUE(contains(found[0].fixes[0].text, "Look at node-a and node-b first"));
  EXPECT_EQ(found[0].fixes[1].command, "ib_write_bw -d <adapter> <peer>");
}
TEST(NcclIbRetryExceeded, FiresWithTheHostsThatTheAddressesOfTheAdaptersTell) {
  NcclLog log = healthy_log();
  for (std::uint32_t rank : {0U, 2U}) {
    NcclEvent& event = add_event(log, NcclEventKind::kCompletionError, "status 12", 70 + rank, rank);
    event.status = 12;
    event.device = rank == 0 ? "mlx5_0" : "mlx5_1";
    event.peer = "127.0.0.1<5000>";
    event.local_gid = rank == 0 ? "::ffff:192.0.2.1" : "::ffff:192.0.2.2";
    event.remote_gid = rank == 0 ? "::ffff:192.0.2.2" : "::ffff:192.0.2.1";
  }
  EXPECT_TRUE(
      contains(title_of(with_log(log), "nccl.ib.retry-exceeded"), "each way between node-a and node-b"));
  log.events[1].local_gid = log.events[1].remote_gid;  // both have it: a container network
  EXPECT_FALSE(contains(title_of(with_log(log), "nccl.ib.retry-exceeded"), "each way"));
}
TEST(NcclIbRetryExceeded, FiresWithThePeersHostByTheGidOfItsConnections) {
  NcclLog log = with_completion(12);
  log.events[0].remote_gid = "::ffff:192.0.2.2";
  log.networks[1].devices[0].gid = "0/20200C0FFFF0000";
  EXPECT_TRUE(contains(title_of(with_log(log), "nccl.ib.retry-exceeded"), "got no answer from node-b"));
  log.networks[0].devices[0].gid = "0/20200C0FFFF0000";  // both have it: a container network
  EXPECT_TRUE(contains(title_of(with_log(log), "nccl.ib.retry-exceeded"), "from 192.0.2.7<5000>"));
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

Machine with_port(const char* name, const char* state, std::uint64_t downed) {
  Machine machine;
  machine.name = name;
  model::RdmaDevice device;
  device.name = "mlx5_0";
  model::RdmaPort port;
  port.state = Observed<std::string>::known(state, {});
  port.physical_state = Observed<std::string>::known("Polling", {});
  port.counters.emplace("link_downed", Observed<std::uint64_t>::known(downed, {}));
  device.ports.push_back(std::move(port));
  machine.rdma.push_back(std::move(device));
  return machine;
}
TEST(NcclIbPortEvent, FiresOnAPortThatTheSnapshotHasDownBeforeTheRetriesOnIt) {
  NcclLog log = with_completion(12);
  log.events[0].device = "mlx5_0";
  const auto all = diagnose::diagnose(with_log(log, with_port("node-a", "DOWN", 2))).findings;
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all[0].rule, "nccl.ib.port-event");
  EXPECT_EQ(all[0].title, "mlx5_0 is down, and the job could not send by it");
  EXPECT_EQ(all[0].evidence.back().text,
            "link_downed 2 of mlx5_0 port 1 of node-a, since that counter began");
  EXPECT_EQ(all[1].rule, "nccl.ib.retry-exceeded");
}
TEST(NcclIbPortEvent, FiresOnceWhereTheAdapterSaidSoToo) {
  NcclLog log = with_completion(12);
  log.events[0].device = "mlx5_0";
  add_event(log, NcclEventKind::kAsyncPort, "Got non-fatal async event: port error(10)", 65).device =
      "mlx5_0:1";
  const auto found = findings_of(with_log(log, with_port("node-a", "DOWN", 1)), "nccl.ib.port-event");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "A port went down while the job ran on mlx5_0:1: it is down in the snapshot too");
}
TEST(NcclIbPortEvent, SilentOnPortsOfOtherHostsAndOnThoseThatAreUp) {
  NcclLog log = with_completion(12);
  log.events[0].device = "mlx5_0";
  EXPECT_TRUE(findings_of(with_log(log, with_port("node-b", "DOWN", 0)), "nccl.ib.port-event").empty());
  EXPECT_TRUE(findings_of(with_log(log, with_port("node-a", "ACTIVE", 1)), "nccl.ib.port-event").empty());
}
TEST(NcclIbPortEvent, FiresAsAWarningOnChangedAddresses) {
  const auto found =
      findings_of(with_event(NcclEventKind::kAsyncOther, "Got non-fatal async event: GID table changed(18)"),
                  "nccl.ib.port-event");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, model::Severity::kWarning);
  EXPECT_EQ(found[0].fixes.size(), 1U);
  EXPECT_TRUE(contains(found[0].fixes[0].text, "fixed addresses"));
  EXPECT_EQ(found[0].disprove, "the table that show_gids prints is the same before and after the job");
}
TEST(NcclIbPortEvent, SilentOnAHealthyLog) {
  EXPECT_TRUE(held(with_log(healthy_log()), "nccl.ib.port-event"));
}
TEST(NcclIbPortEvent, UndecidedNever) {
  // no undecided: the adapter's events are always printed
  EXPECT_TRUE(not_applicable(dgx_h100(), "nccl.ib.port-event"));
}

}  // namespace
}  // namespace angio::diagnose
