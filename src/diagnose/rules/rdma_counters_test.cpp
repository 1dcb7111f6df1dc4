#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

model::RdmaPort& port(Machine& machine, std::size_t device) {
  return machine.rdma[device].ports[0];
}

TEST(RdmaFirmwareMixed, FiresWithinOneBoard) {
  Machine machine = dgx_h100();
  set(machine.rdma[7].firmware, std::string("28.39.1002"));
  const auto found = findings_of(machine, "rdma.firmware.mixed");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].text, "28.39.1002: mlx5_7");
}

TEST(RdmaFirmwareMixed, SilentAcrossBoards) {
  Machine machine = dgx_h100();
  set(machine.rdma[7].firmware, std::string("32.43.2402"));
  set(machine.rdma[7].board_id, std::string("MT_0000000884"));
  EXPECT_TRUE(held(machine, "rdma.firmware.mixed"));
}

TEST(RdmaFirmwareMixed, UndecidedWithoutTheVersion) {
  Machine machine = dgx_h100();
  deny(machine.rdma[7].firmware);
  EXPECT_EQ(undecided_of(machine, "rdma.firmware.mixed").size(), 1U);
}

TEST(RdmaPortErrors, FiresAboveTheLimits) {
  Machine machine = dgx_h100();
  set(port(machine, 4).counters["link_downed"], std::uint64_t{255});
  EXPECT_EQ(findings_of(machine, "rdma.port.errors").at(0).evidence.at(0).text, "link_downed 255");
}

TEST(RdmaPortErrors, SilentOnAFew) {
  Machine machine = dgx_h100();
  set(port(machine, 4).counters["link_downed"], std::uint64_t{3});
  EXPECT_TRUE(held(machine, "rdma.port.errors"));
}

TEST(RdmaPortErrors, UndecidedWithoutTheCounters) {
  Machine machine = dgx_h100();
  deny(port(machine, 4).counters["symbol_error"]);
  EXPECT_EQ(undecided_of(machine, "rdma.port.errors").size(), 1U);
}

TEST(RdmaPortLoss, FiresOnRoceThatLosesPackets) {
  Machine machine = dgx_h100();
  for (std::size_t i = 0; i < 8; ++i) {
    port(machine, i).link_layer = model::LinkLayer::kEthernet;
    port(machine, i).hw_counters["out_of_sequence"] = known(std::uint64_t{5000000}, "out_of_sequence");
  }
  const auto found = findings_of(machine, "rdma.port.loss");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 to mlx5_7 count lost packets");
  EXPECT_EQ(found[0].evidence[0].text, "each: out_of_sequence 5000000");
}

TEST(RdmaPortLoss, FiresOnTimeoutsAndDiscards) {
  Machine machine = dgx_h100();
  port(machine, 1).hw_counters["local_ack_timeout_err"] = known(std::uint64_t{900}, "local_ack_timeout_err");
  port(machine, 1).counters["port_xmit_discards"] = known(std::uint64_t{900000}, "port_xmit_discards");
  const auto found = findings_of(machine, "rdma.port.loss");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_1 counts lost packets");
  ASSERT_EQ(found[0].evidence.size(), 2U);
  EXPECT_EQ(found[0].evidence[1].text, "port_xmit_discards 900000");
}

TEST(RdmaPortLoss, SilentOnAFewAndOnAdaptiveRouting) {
  Machine machine = dgx_h100();
  port(machine, 1).hw_counters["out_of_sequence"] = known(std::uint64_t{5000000}, "out_of_sequence");
  port(machine, 1).hw_counters["packet_seq_err"] = known(std::uint64_t{12}, "packet_seq_err");
  EXPECT_TRUE(held(machine, "rdma.port.loss"));
}

TEST(RdmaPortLoss, UndecidedWithoutTheCounters) {
  Machine machine = dgx_h100();
  deny(port(machine, 4).counters["port_xmit_discards"]);
  EXPECT_EQ(undecided_of(machine, "rdma.port.loss").size(), 1U);
}

Machine job_with_traffic() {
  Machine machine = dgx_h100();
  for (std::size_t i = 0; i < 8; ++i) {
    port(machine, i).counters["port_xmit_data"] = known(std::uint64_t{10000000000000}, "port_xmit_data");
    port(machine, i).counters["port_rcv_data"] = known(std::uint64_t{10000000000000}, "port_rcv_data");
  }
  model::Process process;
  process.id = 7;
  process.gpus = {0, 1, 2, 3, 4, 5, 6, 7};
  machine.processes = {process};
  return machine;
}

TEST(RdmaPortIdle, FiresWhenHalfOfTheRailsCarryNothing) {
  Machine machine = job_with_traffic();
  for (std::size_t i = 4; i < 8; ++i) {
    set(port(machine, i).counters["port_xmit_data"], std::uint64_t{0});
    set(port(machine, i).counters["port_rcv_data"], std::uint64_t{5000});
  }
  const auto found = findings_of(machine, "rdma.port.idle");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "4 of 8 like ports carried next to nothing");
  EXPECT_EQ(found[0].severity, model::Severity::kInfo);
  EXPECT_EQ(found[0].evidence[0].text, "next to nothing: mlx5_4, mlx5_5, mlx5_6, mlx5_7");
}

TEST(RdmaPortIdle, SilentOnEvenTrafficOnNoneAndWithoutAJob) {
  EXPECT_TRUE(held(job_with_traffic(), "rdma.port.idle"));
  Machine fresh = job_with_traffic();
  for (std::size_t i = 0; i < 8; ++i) {
    set(port(fresh, i).counters["port_xmit_data"], std::uint64_t{i == 0 ? 100000U : 0U});
    set(port(fresh, i).counters["port_rcv_data"], std::uint64_t{0});
  }
  EXPECT_TRUE(held(fresh, "rdma.port.idle"));
  fresh.processes.clear();
  EXPECT_TRUE(not_applicable(fresh, "rdma.port.idle"));
}

TEST(RdmaPortIdle, UndecidedWithoutTheCounters) {
  Machine machine = job_with_traffic();
  deny(port(machine, 4).counters["port_xmit_data"]);
  EXPECT_EQ(undecided_of(machine, "rdma.port.idle").size(), 1U);
}

}  // namespace
}  // namespace angio::test
