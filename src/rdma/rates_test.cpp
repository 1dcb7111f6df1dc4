#include "rdma/rates.hpp"

#include <gtest/gtest.h>

#include "rdma/test_readings.hpp"

namespace angio::rdma::test {
namespace {

using model::LinkLayer;
using model::RdmaChange;
using model::RdmaChangeKind;

const RdmaChange& change(const model::RdmaRates& rates, std::string_view name) {
  static const RdmaChange kNone;
  const RdmaChange* found = Counters(rates.ports.at(0)).find(name);
  return found == nullptr ? kNone : *found;
}

TEST(RdmaRates, DataCountsFourByteWords) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  const model::RdmaRates result = rates(port, busy(port));
  ASSERT_EQ(result.ports.size(), 1U);
  ASSERT_TRUE(result.ports[0].traffic.has_value());
  EXPECT_NEAR(result.ports[0].traffic->sent.value, 350e9, 1e3);
  EXPECT_NEAR(result.ports[0].traffic->received.value, 340e9, 1e3);
  EXPECT_DOUBLE_EQ(*result.ports[0].seconds, 10);
  EXPECT_EQ(result.ports[0].traffic->packets_sent, 106811523U);
  EXPECT_FALSE(result.ports[0].idle);
  EXPECT_TRUE(result.remarks.empty());
}

TEST(RdmaRates, AnIdlePortIsCalledSo) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading later = idle(port);
  set_port(later, "port_xmit_data", 7 + 1000);  // subnet management
  EXPECT_TRUE(rates(port, later).ports[0].idle);
}

TEST(RdmaRates, ACounterThatFellWasSetBack) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  set_port(port, "symbol_error", 4000);
  RdmaPortReading later = busy(port);
  set_port(later, "symbol_error", 12);
  const model::RdmaRates result = rates(port, later);
  EXPECT_EQ(change(result, "symbol_error").kind, RdmaChangeKind::kReset);
  EXPECT_EQ(change(result, "symbol_error").growth, 12U);
  ASSERT_EQ(result.remarks.size(), 1U);
  EXPECT_NE(result.remarks[0].find("1 counter fell: set back"), std::string::npos) << result.remarks[0];
}

TEST(RdmaRates, DataThatWasSetBackIsALowerBound) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading later = busy(port);
  set_port(port, "port_xmit_data", 1ULL << 50U);
  const model::RdmaRates result = rates(port, later);
  EXPECT_TRUE(result.ports[0].traffic->at_least);
  EXPECT_FALSE(result.ports[0].idle);
}

TEST(RdmaRates, LegacyCountersStopAtTheirMaximum) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  set_port(port, "port_xmit_data", 4294967295);
  set_port(port, "symbol_error", 65535);
  set_port(port, "link_downed", 250);
  RdmaPortReading later = idle(port);
  set_port(later, "link_downed", 255);
  const model::RdmaRates result = rates(port, later);
  EXPECT_EQ(change(result, "symbol_error").kind, RdmaChangeKind::kStopped);
  EXPECT_EQ(change(result, "symbol_error").growth, 0U);
  EXPECT_EQ(change(result, "link_downed").kind, RdmaChangeKind::kStopped);
  EXPECT_EQ(change(result, "link_downed").growth, 5U);
  EXPECT_TRUE(result.ports[0].traffic->at_least);
  EXPECT_FALSE(result.ports[0].idle);  // who knows
}

TEST(RdmaRates, AnExtendedCounterPassesTheLegacyMaximum) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  set_port(port, "port_xmit_data", 4294967290);
  RdmaPortReading later = busy(port);
  set_port(later, "port_xmit_data", 4294967290ULL + 1'250'000'000);
  const model::RdmaRates result = rates(port, later);
  EXPECT_EQ(change(result, "port_xmit_data").kind, RdmaChangeKind::kCounted);
  EXPECT_NEAR(result.ports[0].traffic->sent.value, 4e9, 1);
}

TEST(RdmaRates, OnlyCountersOfKnownWidthWrap) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kEthernet);
  set_ethtool(port, "tx_pci_signal_integrity", 4294967290);
  set_ethtool(port, "rx_pci_signal_integrity", 1000);
  set_hardware(port, "out_of_sequence", 18446744073709551610ULL);
  RdmaPortReading later = idle(port);
  set_ethtool(later, "tx_pci_signal_integrity", 4);
  set_ethtool(later, "rx_pci_signal_integrity", 4);
  set_hardware(later, "out_of_sequence", 4);
  const model::RdmaRates result = rates(port, later);
  EXPECT_EQ(change(result, "tx_pci_signal_integrity").kind, RdmaChangeKind::kWrapped);
  EXPECT_EQ(change(result, "tx_pci_signal_integrity").growth, 10U);
  EXPECT_EQ(change(result, "rx_pci_signal_integrity").kind, RdmaChangeKind::kReset);
  EXPECT_EQ(change(result, "out_of_sequence").kind, RdmaChangeKind::kReset);
}

TEST(RdmaRates, OneUnreadableCounterLosesNoOther) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading later = busy(port);
  later.counters[0].value.reset();
  later.counters[0].why = "Invalid argument (EINVAL)";
  std::erase_if(later.counters, [](const auto& counter) { return counter.name == "link_downed"; });
  set_hardware(later, "new_one", 5);
  const model::RdmaRates result = rates(port, later);
  EXPECT_EQ(change(result, "symbol_error").kind, RdmaChangeKind::kUnread);
  EXPECT_EQ(change(result, "symbol_error").why, "Invalid argument (EINVAL)");
  EXPECT_EQ(change(result, "link_downed").kind, RdmaChangeKind::kGone);
  EXPECT_EQ(change(result, "new_one").kind, RdmaChangeKind::kNew);
  EXPECT_EQ(change(result, "new_one").growth, 0U);
  EXPECT_EQ(change(result, "port_rcv_data").kind, RdmaChangeKind::kCounted);
  EXPECT_TRUE(result.ports[0].traffic.has_value());
}

TEST(RdmaRates, AGaugeIsNotAGrowth) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kEthernet);
  set_ethtool(port, "outbound_pci_stalled_wr", 60);
  RdmaPortReading later = busy(port);
  set_ethtool(later, "outbound_pci_stalled_wr", 2);
  EXPECT_EQ(change(rates(port, later), "outbound_pci_stalled_wr").growth, 60U);
  EXPECT_EQ(change(rates(port, later), "outbound_pci_stalled_wr").kind, RdmaChangeKind::kCounted);
}

TEST(RdmaRates, ARenamedDeviceIsFoundByItsGuid) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading later = busy(port);
  later.device = "ibp24s0";
  const model::RdmaRates result = rates(port, later);
  ASSERT_EQ(result.ports.size(), 1U);
  EXPECT_EQ(result.ports[0].device, "ibp24s0");
  EXPECT_EQ(result.ports[0].was, "mlx5_0");
  EXPECT_TRUE(result.ports[0].traffic.has_value());
}

TEST(RdmaRates, SwappedNamesAreNotMixedUp) {
  RdmaPortReading first = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading second = port_of("mlx5_1", LinkLayer::kInfiniBand);
  set_port(second, "symbol_error", 500);
  RdmaPortReading first_later = idle(first);
  RdmaPortReading second_later = idle(second);
  std::swap(first_later.device, second_later.device);
  const std::vector<RdmaReading> readings{reading_of({first, second}),
                                          reading_of({second_later, first_later})};
  const model::RdmaRates result = make_rates(readings);
  ASSERT_EQ(result.ports.size(), 2U);
  for (const auto& port : result.ports) {
    EXPECT_EQ(Counters(port).growth("symbol_error"), 0U);
    EXPECT_FALSE(port.was.empty());
  }
}

TEST(RdmaRates, PortsThatComeAndGoAreSaidTo) {
  const RdmaPortReading one = port_of("mlx5_0", LinkLayer::kInfiniBand);
  const RdmaPortReading two = port_of("mlx5_1", LinkLayer::kInfiniBand);
  const std::vector<RdmaReading> readings{reading_of({one}), reading_of({two})};
  const model::RdmaRates result = make_rates(readings);
  ASSERT_EQ(result.ports.size(), 2U);
  EXPECT_EQ(result.ports[0].absent, "not there any more");
  EXPECT_EQ(result.ports[1].absent, "not there at the start");
  EXPECT_TRUE(judge(result).findings.empty());
}

TEST(RdmaRates, ThePartsOfALongIntervalAddUp) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading middle = busy(port);
  set_port(middle, "symbol_error", 20);
  RdmaPortReading later = idle(middle);
  set_port(later, "symbol_error", 3);  // set back between the second and the third
  later.state = "DOWN";
  const std::vector<RdmaReading> readings{reading_of({port}), reading_of({middle}), reading_of({later})};
  const model::RdmaRates result = make_rates(readings);
  EXPECT_DOUBLE_EQ(*result.ports[0].seconds, 20);
  EXPECT_EQ(change(result, "symbol_error").growth, 16U);
  EXPECT_EQ(change(result, "symbol_error").kind, RdmaChangeKind::kReset);
  EXPECT_EQ(result.ports[0].states, (std::vector<std::string>{"ACTIVE", "DOWN"}));
  EXPECT_NEAR(result.ports[0].traffic->sent.value, 175e9, 1e3);
  EXPECT_NEAR(result.ports[0].traffic->peak_sent.value, 350e9, 1e3);
}

TEST(RdmaRates, ACounterThatIsReadAgainCountsOn) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading middle = busy(port);
  for (auto& counter : middle.counters)
    if (counter.name == "symbol_error") counter.value.reset();
  RdmaPortReading later = busy(middle);
  set_port(later, "symbol_error", 30);
  const std::vector<RdmaReading> readings{reading_of({port}), reading_of({middle}), reading_of({later})};
  const model::RdmaRates result = make_rates(readings);
  EXPECT_EQ(change(result, "symbol_error").kind, RdmaChangeKind::kCounted);
  EXPECT_EQ(change(result, "symbol_error").growth, 23U);
}

TEST(RdmaRates, TheClockOfSnapshots) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading later = busy(port);
  port.moment = {};
  later.moment = {};
  RdmaReading before = reading_of({port});
  RdmaReading after = reading_of({later});
  EXPECT_FALSE(make_rates(std::vector{before, after}).ports[0].seconds.has_value());
  EXPECT_FALSE(make_rates(std::vector{before, after}).ports[0].traffic.has_value());
  EXPECT_DOUBLE_EQ(*make_rates(std::vector{before, after}, 20.0).ports[0].seconds, 20);
  before.captured = "2026-02-28T23:59:00Z";
  after.captured = "2026-03-01T00:01:00Z";
  EXPECT_DOUBLE_EQ(*make_rates(std::vector{before, after}, 20.0).ports[0].seconds, 120);
  after.captured = "2026-02-30T00:01:00Z";  // no such day
  EXPECT_FALSE(make_rates(std::vector{before, after}).ports[0].seconds.has_value());
}

TEST(RdmaRates, ARateThatChangedIsSaid) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading later = busy(port);
  later.rate = BitsPerSecond{200e9};
  const model::RdmaRates result = rates(port, later);
  ASSERT_EQ(result.remarks.size(), 1U);
  EXPECT_EQ(result.remarks[0], "mlx5_0 port 1: its data rate changed from 400 Gb/s to 200 Gb/s");
  EXPECT_NEAR(*share_of_rate(result.ports[0]), 0.875, 1e-6);
}

TEST(RdmaRates, ARestartShowsInTheClocks) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  RdmaPortReading later = busy(port);
  *later.moment.wall = *port.moment.wall + static_cast<std::int64_t>(3600 * kSecond);
  *later.moment.boot = static_cast<std::int64_t>(10 * kSecond);
  const model::RdmaRates result = rates(port, later);
  EXPECT_DOUBLE_EQ(*result.ports[0].seconds, 3600);
  EXPECT_NE(result.ports[0].clock.find("restarted"), std::string::npos);
}

TEST(RdmaRates, SoftRoceHasOnlyTheInterface) {
  RdmaPortReading port = port_of("rxe0", LinkLayer::kEthernet);
  port.counters.clear();
  set(port, RdmaCounterPlace::kInterface, "tx_bytes", 100, "eth0");
  set(port, RdmaCounterPlace::kInterface, "rx_bytes", 100, "eth0");
  set_hardware(port, "sent_pkts", 10);
  set_hardware(port, "rcvd_pkts", 10);
  RdmaPortReading later = idle(port);
  set(later, RdmaCounterPlace::kInterface, "tx_bytes", 100 + 1'250'000'000, "eth0");
  set(later, RdmaCounterPlace::kInterface, "rx_bytes", 200, "eth0");
  set_hardware(later, "sent_pkts", 1010);
  const model::RdmaRates result = rates(port, later);
  ASSERT_TRUE(result.ports[0].traffic.has_value());
  EXPECT_TRUE(result.ports[0].traffic->of_interface);
  EXPECT_NEAR(result.ports[0].traffic->sent.value, 1e9, 1);
  EXPECT_EQ(result.ports[0].traffic->packets_sent, 1000U);
}

// Adapters of other makers: their data is in hw_counters, or nowhere; the interface never sees it.
TEST(RdmaRates, OtherAdaptersCountBytesOfTheirOwnOrNone) {
  RdmaPortReading port = port_of("bnxt_re0", LinkLayer::kEthernet);
  port.counters.clear();
  set(port, RdmaCounterPlace::kInterface, "tx_bytes", 100, "eth0");
  set(port, RdmaCounterPlace::kInterface, "rx_bytes", 100, "eth0");
  const model::RdmaRates blind = rates(port, idle(port));
  EXPECT_FALSE(blind.ports[0].traffic.has_value());
  EXPECT_FALSE(blind.ports[0].idle);  // who knows
  ASSERT_EQ(blind.remarks.size(), 2U);
  EXPECT_NE(blind.remarks[0].find("do not see RDMA"), std::string::npos);
  EXPECT_NE(blind.remarks[1].find("of these nothing can be said"), std::string::npos);
  for (const char* name : {"tx_bytes", "rx_bytes", "tx_pkts", "rx_pkts"})
    set_hardware(port, name, 1000);
  RdmaPortReading later = idle(port);
  set_hardware(later, "tx_bytes", 1000 + 250'000'000'000);
  set_hardware(later, "rx_bytes", 1000 + 125'000'000'000);
  set_hardware(later, "tx_pkts", 1000 + 61'000'000);
  const model::RdmaRates result = rates(port, later);
  ASSERT_TRUE(result.ports[0].traffic.has_value());
  EXPECT_FALSE(result.ports[0].traffic->of_interface);
  EXPECT_NEAR(result.ports[0].traffic->sent.value, 200e9, 1);
  EXPECT_NEAR(result.ports[0].traffic->received.value, 100e9, 1);
  EXPECT_EQ(result.ports[0].traffic->packets_sent, 61'000'000U);
  EXPECT_TRUE(judge(blind).findings.empty());
  EXPECT_EQ(judge(blind).held, std::vector<std::string>{"rdma.rate.link-down"});  // its state is known
}

TEST(RdmaRates, AClockThatWasSetForwardIsNoLongInterval) {
  RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  *port.moment.boot = static_cast<std::int64_t>(86400 * kSecond);
  RdmaPortReading later = busy(port);
  *later.moment.wall += static_cast<std::int64_t>(3600 * kSecond);
  const model::RdmaRates result = rates(port, later);
  EXPECT_DOUBLE_EQ(*result.ports[0].seconds, 10);
  EXPECT_NE(result.ports[0].clock.find("was set"), std::string::npos);
  EXPECT_NEAR(result.ports[0].traffic->sent.value, 350e9, 1e3);
}

TEST(RdmaRates, StatesOfTwoHostsOrInTheWrongOrderAreRefused) {
  const RdmaPortReading port = port_of("mlx5_0", LinkLayer::kInfiniBand);
  const RdmaReading before = reading_of({port});
  const RdmaReading after = reading_of({busy(port)});
  EXPECT_TRUE(check_states(before, after).has_value());
  EXPECT_TRUE(check_states(before, before).has_value());
  const auto swapped = check_states(after, before);
  ASSERT_FALSE(swapped.has_value());
  EXPECT_EQ(swapped.error().message, "the second state was captured before the first");
  RdmaReading other = reading_of({busy(port)});
  other.host = "gpu-b";
  EXPECT_TRUE(check_states(before, other).has_value());  // the same adapter: the host was renamed
  other.ports[0].node_guid = "b83f:d203:0000:7770";
  const auto two = check_states(before, other);
  ASSERT_FALSE(two.has_value());
  EXPECT_NE(two.error().message.find("two hosts, gpu-a and gpu-b"), std::string::npos);
  RdmaReading restarted = reading_of({busy(port)});
  *restarted.ports[0].moment.boot = static_cast<std::int64_t>(3 * kSecond);
  EXPECT_TRUE(check_states(before, restarted).has_value());
}

TEST(RdmaRates, WhatACutOffFileLacksIsNotGone) {
  const RdmaPortReading one = port_of("mlx5_0", LinkLayer::kInfiniBand);
  const RdmaPortReading two = port_of("mlx5_1", LinkLayer::kInfiniBand);
  RdmaPortReading cut = busy(one);
  std::erase_if(cut.counters, [](const auto& counter) { return counter.name == "link_downed"; });
  RdmaReading after = reading_of({cut});
  after.complete = false;
  after.notes = {"a.snap:9: the file is cut off"};
  const model::RdmaRates result = make_rates(std::vector{reading_of({one, two}), after});
  EXPECT_EQ(change(result, "link_downed").kind, RdmaChangeKind::kUnread);
  EXPECT_EQ(result.ports[1].absent, "not in the second state");
  ASSERT_FALSE(result.remarks.empty());
  EXPECT_EQ(result.remarks[0], "a.snap:9: the file is cut off");
}

TEST(RdmaRates, NothingGivesNothing) {
  EXPECT_TRUE(make_rates({}).ports.empty());
  RdmaReading none;
  none.problem = "there are no RDMA devices: no /sys/class/infiniband";
  EXPECT_EQ(make_rates(std::vector{none, none}).problem, none.problem);
}

}  // namespace
}  // namespace angio::rdma::test
