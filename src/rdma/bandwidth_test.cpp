#include "rdma/bandwidth.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "rdma/metrics.hpp"
#include "rdma/test_readings.hpp"

namespace angio::rdma::test {
namespace {

using model::LinkLayer;
using model::Observed;
using model::RdmaVerdict;

template <typename T>
Observed<T> known(T value) {
  return Observed<T>::known(std::move(value), {});
}

// One adapter of 400 Gb/s below one root port.
model::Machine machine_with(model::PciLink link, LinkLayer layer) {
  model::Machine machine;
  model::PciDevice device;
  device.address = {0, 0x1b, 0, 0};
  device.class_code = 0x020700;
  device.link = known(link);
  device.link_max = known(model::PciLink{{32e9}, 16});
  device.numa = known(NumaId{1});
  machine.pci.devices.push_back(device);
  model::RdmaDevice nic;
  nic.name = "mlx5_0";
  nic.pci = 0;
  nic.address = known(device.address);
  nic.board_id = known(std::string("MT_0000000838"));
  nic.numa = known(NumaId{1});
  model::RdmaPort port;
  port.link_layer = layer;
  port.state = known(std::string("ACTIVE"));
  port.rate = known(BitsPerSecond{400e9});
  port.active_mtu = known(Bytes{4096});
  port.max_mtu = known(Bytes{4096});
  nic.ports.push_back(port);
  machine.rdma.push_back(nic);
  return machine;
}

struct Followed {
  model::RdmaPath path;
  const model::RdmaStep& at(std::string_view topic) const {
    static const model::RdmaStep kNone;
    for (const model::RdmaStep& step : path.steps)
      if (step.topic == topic) return step;
    return kNone;
  }
};

Followed follow(const model::Machine& machine, const RdmaPortReading& before, const RdmaPortReading& after,
                const Wanted& wanted = {}) {
  const model::RdmaRates result = rates(before, after);
  return {follow_bandwidth(machine, result, result.ports.at(0), judge(result), wanted)};
}

bool says(const model::RdmaStep& step, std::string_view text) {
  return std::ranges::any_of(step.seen, [&](const std::string& seen) { return contains(seen, text); });
}

TEST(Bandwidth, NeedsItsUnit) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("380Gb/s")->value, 380e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth(" 47.5 GB/s ")->value, 380e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("1MiB/s")->value, 8388608);
  EXPECT_DOUBLE_EQ(parse_bandwidth("200Gbps")->value, 200e9);
  for (const char* text : {"380", "", "Gb/s", "-1Gb/s", "380gb/s", "380 G", "0Gb/s", "3.8.0Gb/s", "nanGb/s"})
    EXPECT_FALSE(parse_bandwidth(text).has_value()) << text;
}

TEST(Bandwidth, BytesTakenForBitsAreNoticed) {
  const auto wrong = check_plausible("mlx5_0 port 1", BitsPerSecond{100e9}, {BitsPerSecond{92e9 * 8}, {}});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message, "measured 736 Gb/s is more than mlx5_0 port 1 can carry (100 Gb/s)");
  EXPECT_TRUE(contains(wrong.error().hint, "it would be 92 Gb/s"));
  EXPECT_TRUE(check_plausible("mlx5_0 port 1", BitsPerSecond{100e9}, {BitsPerSecond{92e9}, {}}).has_value());
}

TEST(Bandwidth, TheStepsStandInTheirOrder) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  const Followed that = follow(machine_with({{32e9}, 16}, LinkLayer::kInfiniBand), port, busy(port));
  std::vector<std::string> topics;
  for (const auto& step : that.path.steps)
    topics.push_back(step.topic);
  EXPECT_EQ(topics, (std::vector<std::string>{"bandwidth", "line rate and width", "PCIe of the adapter",
                                              "distance to GPU and memory", "MTU", "queue pairs",
                                              "congestion of the fabric", "errors and retransmissions",
                                              "limits of the host", "the switch's side"}));
  EXPECT_EQ(that.at("bandwidth").verdict, RdmaVerdict::kNarrows);  // 350 of 400 Gb/s
  EXPECT_TRUE(says(that.at("bandwidth"), "at most 397.5 Gb/s of payload"));
  EXPECT_EQ(that.at("line rate and width").verdict, RdmaVerdict::kFine);
  EXPECT_EQ(that.at("PCIe of the adapter").verdict, RdmaVerdict::kFine);
  EXPECT_EQ(that.at("MTU").verdict, RdmaVerdict::kFine);
  EXPECT_EQ(that.at("errors and retransmissions").verdict, RdmaVerdict::kFine);
  EXPECT_EQ(that.at("the switch's side").verdict, RdmaVerdict::kUnknown);
}

TEST(Bandwidth, ANarrowSlotNarrows) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  const Followed that = follow(machine_with({{16e9}, 16}, LinkLayer::kInfiniBand), port, busy(port));
  const model::RdmaStep& pcie = that.at("PCIe of the adapter");
  EXPECT_EQ(pcie.verdict, RdmaVerdict::kNarrows);
  EXPECT_TRUE(says(pcie, "16 GT/s x16: 31.5 GB/s = 252.1 Gb/s"));
  EXPECT_TRUE(says(pcie, "the adapter could do 32 GT/s x16"));
}

TEST(Bandwidth, AFasterSiblingAndFewLanesNarrow) {
  model::Machine machine = machine_with({{32e9}, 16}, LinkLayer::kInfiniBand);
  machine.rdma.push_back(machine.rdma.front());
  machine.rdma.back().name = "mlx5_1";
  machine.rdma.back().ports[0].rate = known(BitsPerSecond{800e9});
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  EXPECT_EQ(follow(machine, port, busy(port)).at("line rate and width").verdict, RdmaVerdict::kNarrows);
  RdmaPortReading thin = port;
  thin.lanes = 1;
  const Followed that = follow(machine_with({{32e9}, 16}, LinkLayer::kInfiniBand), thin, busy(thin));
  EXPECT_TRUE(says(that.at("line rate and width"), "an adapter's port has 4 lanes, or 2"));
}

// HDR100 and NDR200 are two lanes by design; what was lost looks the same from here.
TEST(Bandwidth, TwoLanesAreNotAFault) {
  RdmaPortReading half = port_of("mlx5_0", LinkLayer::kInfiniBand);
  half.lanes = 2;
  const Followed that = follow(machine_with({{32e9}, 16}, LinkLayer::kInfiniBand), half, busy(half));
  EXPECT_EQ(that.at("line rate and width").verdict, RdmaVerdict::kUnknown);
  EXPECT_TRUE(says(that.at("line rate and width"), "half of a split cable"));
}

TEST(Bandwidth, APortThatIsDownHasNoRate) {
  RdmaPortReading down = port_of("mlx5_0", LinkLayer::kInfiniBand);
  down.state = "DOWN";
  down.physical_state = "Disabled";
  down.rate = BitsPerSecond{2.5e9};
  down.lanes = 1;
  const Followed that = follow(machine_with({{32e9}, 16}, LinkLayer::kInfiniBand), down, idle(down));
  EXPECT_EQ(that.at("bandwidth").verdict, RdmaVerdict::kNarrows);
  EXPECT_TRUE(says(that.at("bandwidth"), "the port is DOWN (Disabled): it carries nothing"));
  EXPECT_EQ(that.at("line rate and width").verdict, RdmaVerdict::kUnknown);
  EXPECT_FALSE(says(that.at("line rate and width"), "4 lanes"));
  EXPECT_EQ(that.at("PCIe of the adapter").verdict, RdmaVerdict::kUnknown);
}

// EFA states no link layer: nothing of InfiniBand or RoCE may be said of it.
TEST(Bandwidth, AnotherNetworkIsNeitherOfTheTwo) {
  RdmaPortReading efa = port_of("rdmap0", LinkLayer::kUnknown);
  efa.counters.clear();
  for (const char* name : {"tx_bytes", "rx_bytes", "tx_pkts", "rx_pkts"})
    set_hardware(efa, name, 0);
  RdmaPortReading later = idle(efa);
  for (const char* name : {"tx_bytes", "rx_bytes"})
    set_hardware(later, name, 50'000'000'000);
  model::Machine machine = machine_with({{32e9}, 16}, LinkLayer::kUnknown);
  machine.rdma[0].name = "rdmap0";
  const Followed that = follow(machine, efa, later);
  EXPECT_TRUE(says(that.at("bandwidth"), "of the interval: 40 Gb/s"));
  EXPECT_FALSE(says(that.at("bandwidth"), "headers"));
  for (const model::RdmaStep& step : that.path.steps)
    for (const auto& words : {step.seen, step.next})
      for (const std::string& text : words)
        for (const char* foreign : {"InfiniBand", "iblinkinfo", "perfquery", "port_xmit_wait", "PFC"})
          EXPECT_FALSE(contains(text, foreign)) << step.topic << ": " << text;
}

TEST(Bandwidth, PathMtuAndInterfaceMtuAreTwoThings) {
  model::Machine machine = machine_with({{32e9}, 16}, LinkLayer::kEthernet);
  machine.rdma[0].ports[0].active_mtu = known(Bytes{1024});
  model::NetDevice net;
  net.name = "eth0";
  net.mtu = known(std::uint32_t{1500});
  machine.networks.push_back(net);
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kEthernet);
  const Followed that = follow(machine, port, busy(port));
  EXPECT_EQ(that.at("MTU").verdict, RdmaVerdict::kNarrows);
  EXPECT_TRUE(says(that.at("MTU"), "path MTU of RDMA: 1024 bytes, the port can 4096"));
  EXPECT_TRUE(says(that.at("MTU"), "MTU of the interface eth0: 1500 bytes"));
}

TEST(Bandwidth, ABondWantsSeveralQueuePairs) {
  model::Machine machine = machine_with({{32e9}, 16}, LinkLayer::kEthernet);
  machine.rdma[0].bond = true;
  model::Process process;
  process.id = 77;
  process.settings.push_back({"NCCL_IB_QPS_PER_CONNECTION", "1", {}});
  machine.processes.push_back(process);
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kEthernet);
  EXPECT_EQ(follow(machine, port, busy(port)).at("queue pairs").verdict, RdmaVerdict::kNarrows);
  machine.processes[0].settings[0].value = "4";
  EXPECT_EQ(follow(machine, port, busy(port)).at("queue pairs").verdict, RdmaVerdict::kFine);
}

TEST(Bandwidth, AnIdlePortProvesNothing) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  const Followed that = follow(machine_with({{32e9}, 16}, LinkLayer::kInfiniBand), port, idle(port));
  for (const char* topic :
       {"bandwidth", "congestion of the fabric", "errors and retransmissions", "limits of the host"})
    EXPECT_EQ(that.at(topic).verdict, RdmaVerdict::kUnknown) << topic;
}

TEST(Bandwidth, FindingsNarrow) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kEthernet);
  RdmaPortReading later = busy(port);
  set_hardware(later, "packet_seq_err", 30'007);
  const Followed that = follow(machine_with({{32e9}, 16}, LinkLayer::kEthernet), port, later);
  EXPECT_EQ(that.at("errors and retransmissions").verdict, RdmaVerdict::kNarrows);
  EXPECT_TRUE(says(that.at("errors and retransmissions"), "packet_seq_err +30000 NAKs"));
  EXPECT_EQ(that.at("congestion of the fabric").verdict, RdmaVerdict::kFine);
  EXPECT_EQ(that.at("limits of the host").verdict, RdmaVerdict::kFine);
}

TEST(Bandwidth, WithoutTheMachineItSaysSo) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  const Followed that = follow(model::Machine{}, port, busy(port));
  EXPECT_EQ(that.at("PCIe of the adapter").verdict, RdmaVerdict::kUnknown);
  EXPECT_EQ(that.at("MTU").verdict, RdmaVerdict::kUnknown);
  EXPECT_EQ(that.path.steps.size(), 10U);
}

TEST(Bandwidth, AnExpectationIsWhatItIsHeldAgainst) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  const model::Machine machine = machine_with({{32e9}, 16}, LinkLayer::kInfiniBand);
  EXPECT_EQ(follow(machine, port, busy(port), {{}, BitsPerSecond{300e9}}).at("bandwidth").verdict,
            RdmaVerdict::kFine);
  EXPECT_EQ(follow(machine, port, busy(port), {BitsPerSecond{90e9}, {}}).at("bandwidth").verdict,
            RdmaVerdict::kNarrows);
}

TEST(RdmaMetrics, KeepStatesRatesAndWhatIsNotZero) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  for (auto& counter : port.counters)
    counter.value = 0;
  RdmaPortReading later = busy(port);
  set_port(later, "symbol_error", 3);
  const auto metrics = metrics_of(rates(port, later), false);
  ASSERT_EQ(metrics.size(), 3U);
  EXPECT_EQ(metrics[0].subject, "gpu-a mlx5_0 port 1");
  EXPECT_EQ(metrics[0].text, "InfiniBand ACTIVE LinkUp 4x NDR");
  EXPECT_EQ(metrics[1].name, "data rate");
  EXPECT_DOUBLE_EQ(metrics[1].value, 400);
  EXPECT_EQ(metrics[2].name, "symbol_error");
  EXPECT_EQ(metrics[2].kind, model::MetricKind::kCounterOfErrors);
  EXPECT_EQ(metrics_of(rates(port, later), true).size(), 5U);
}

// history takes a counter that a result leaves out for zero, if the result speaks of its subject.
TEST(RdmaMetrics, CountersOfTheInterfaceStandUnderThePort) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kEthernet);
  RdmaPortReading later = busy(port);
  set_ethtool(later, "rx_discards_phy", 70);
  for (auto& counter : later.counters)
    if (counter.name == "packet_seq_err") counter.value.reset();  // 7 before, refused now
  const auto metrics = metrics_of(rates(port, later), false);
  const auto find = [&](std::string_view name) {
    return std::ranges::find(metrics, name, &model::Metric::name);
  };
  ASSERT_NE(find("rx_discards_phy"), metrics.end());
  EXPECT_EQ(find("rx_discards_phy")->subject, "gpu-a mlx5_0 port 1");
  ASSERT_NE(find("packet_seq_err"), metrics.end());
  EXPECT_DOUBLE_EQ(find("packet_seq_err")->value, 7);
}

}  // namespace
}  // namespace angio::rdma::test
