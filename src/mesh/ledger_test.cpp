#include "mesh/ledger.hpp"

#include <gtest/gtest.h>

namespace angio::mesh {
namespace {

using model::MeshState;
using model::MeshTransport;

model::MeshResult two_hosts() {
  model::MeshResult result;
  for (const char* name : {"a", "b"}) {
    model::MeshHost& host = result.hosts.emplace_back();
    host.name = name;
    host.tested = true;
    host.tcp.push_back({.name = "eth0", .address = "10.0.0.1"});
    host.rdma.push_back({.name = "mlx5_0"});
  }
  return result;
}

Outcome bytes_per_second(double rate) {
  Outcome outcome;
  outcome.bytes_per_second = rate;
  outcome.cpu = 0.5;
  return outcome;
}

TEST(Ledger, OnePairIsLatencyAndBothDirections) {
  model::MeshResult result = two_hosts();
  Ledger ledger(result, false);
  EXPECT_TRUE(ledger.needs({0, 1}));
  const auto steps = ledger.open({0, 1}, 1);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].tool, Tool::kTcpLatency);
  EXPECT_EQ(steps[1].from, 0U);
  EXPECT_EQ(steps[2].from, 1U);
  Outcome latency;
  latency.latency_us = 20;
  ledger.record(steps[0], latency, {});
  ledger.record(steps[1], {}, bytes_per_second(1e9));
  EXPECT_TRUE(ledger.needs({0, 1}));
  ledger.record(steps[2], {}, bytes_per_second(2e9));
  EXPECT_FALSE(ledger.needs({0, 1}));
  ASSERT_EQ(result.measures.size(), 2U);
  EXPECT_EQ(result.measures[0].bandwidth->value, 8e9);
  EXPECT_EQ(result.measures[1].bandwidth->value, 16e9);
  EXPECT_EQ(result.measures[0].latency_us, 20.0);
  EXPECT_EQ(result.measures[1].latency_us, 20.0);
  EXPECT_EQ(result.measures[0].to_cpu, 0.5);
}

TEST(Ledger, WhatFailedIsTriedAgainOnlyWhenAskedFor) {
  model::MeshResult result = two_hosts();
  {
    Ledger ledger(result, false);
    const auto steps = ledger.open({0, 1}, 1);
    (void)ledger.record_failure(steps[1], "no data came");
    ledger.record(steps[2], {}, bytes_per_second(2e9));
    EXPECT_EQ(ledger.failed(), 1U);
    EXPECT_FALSE(ledger.needs({0, 1}));
  }
  EXPECT_EQ(result.measures[0].trouble, "no data came");
  Ledger again(result, true);
  EXPECT_TRUE(again.needs({0, 1}));
  const auto steps = again.open({0, 1}, 2);
  ASSERT_EQ(steps.size(), 2U);  // the latency and the direction that failed
  EXPECT_EQ(steps[1].from, 0U);
  EXPECT_EQ(result.measures[0].state, MeshState::kMissing);
  EXPECT_EQ(result.measures[1].bandwidth->value, 16e9);
}

TEST(Ledger, ReadsWhatPerftestPrinted) {
  model::MeshResult result = two_hosts();
  result.plan.tcp = false;
  result.plan.rdma = true;
  result.plan.level = model::MeshLevel::kBandwidth;
  Ledger ledger(result, false);
  const auto steps = ledger.open({0, 1}, 1);
  ASSERT_EQ(steps.size(), 2U);
  Outcome sender;
  sender.text =
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 1048576    23000            0.00               193.10             0.023019\n";
  ledger.record(steps[0], sender, {});
  EXPECT_DOUBLE_EQ(result.measures[0].bandwidth->value, 193.10e9);
  EXPECT_EQ(result.measures[0].message, Bytes{1048576});
  Outcome failed;
  failed.trouble = "ib_write_bw failed (1)";
  failed.text = " Unable to find the Infiniband/RoCE device\n IB device mlx5_9 not found\n";
  ledger.record(steps[1], failed, {});
  EXPECT_EQ(result.measures[1].state, MeshState::kFailed);
  EXPECT_EQ(result.measures[1].trouble, "IB device mlx5_9 not found");
}

TEST(Ledger, ATestWithoutAFigureHasFailed) {
  model::MeshResult result = two_hosts();
  result.plan.tcp = false;
  result.plan.rdma = true;
  Ledger ledger(result, false);
  const auto steps = ledger.open({0, 1}, 1);
  ledger.record(steps[0], {}, {});
  EXPECT_EQ(result.measures[0].trouble, "ib_write_lat printed no result");
}

TEST(Ledger, EveryNicWithEveryNic) {
  model::MeshResult result = two_hosts();
  result.hosts[0].tcp.push_back({.name = "eth1", .address = "10.1.0.1"});
  result.hosts[1].tcp.push_back({.name = "eth1", .address = "10.1.0.2"});
  result.plan.level = model::MeshLevel::kBandwidth;
  EXPECT_EQ(Ledger(result, false).open({0, 1}, 1).size(), 4U);
  result.measures.clear();
  result.plan.all_nics = true;
  EXPECT_EQ(Ledger(result, false).open({0, 1}, 1).size(), 8U);
  // A NIC that a host lacks keeps its rail's place.
  result.measures.clear();
  result.plan.all_nics = false;
  result.hosts[1].tcp[0] = {};
  const auto steps = Ledger(result, false).open({0, 1}, 1);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].from_nic, 1U);
}

TEST(Ledger, AnInterruptedPairIsAsIfNotBegun) {
  model::MeshResult result = two_hosts();
  Ledger ledger(result, false);
  const auto steps = ledger.open({0, 1}, 1);
  ledger.record(steps[1], {}, bytes_per_second(1e9));
  ledger.reset({0, 1});
  EXPECT_EQ(result.measures[0].state, MeshState::kDone);
  EXPECT_EQ(result.measures[1].state, MeshState::kMissing);
  EXPECT_TRUE(ledger.needs({0, 1}));
}

}  // namespace
}  // namespace angio::mesh
