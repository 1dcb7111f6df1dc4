#include "rdma/judge.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "rdma/test_readings.hpp"

namespace angio::rdma::test {
namespace {

using model::LinkLayer;
using model::Severity;

RdmaPortReading infiniband() {
  return port_of("mlx5_0", LinkLayer::kInfiniBand);
}
RdmaPortReading roce() {
  return port_of("mlx5_0", LinkLayer::kEthernet);
}
void refuse(RdmaPortReading& port, std::string_view name) {
  for (auto& counter : port.counters) {
    if (counter.name != name) continue;
    counter.value.reset();
    counter.why = "Invalid argument (EINVAL)";
  }
}
bool seen(const model::Finding& finding, std::string_view text) {
  return std::ranges::any_of(finding.evidence, [&](const auto& one) { return contains(one.text, text); });
}

TEST(RdmaRateRules, EachHasWordsAndEachWordsARule) {
  std::set<std::string_view> in_code;
  for (const Rule& rule : rate_rules()) {
    EXPECT_TRUE(in_code.insert(rule.id).second) << rule.id << " twice";
    EXPECT_NE(knowledge::find_rule(rule.id), nullptr) << rule.id;
  }
  for (const knowledge::RuleText& text : knowledge::rules())
    EXPECT_TRUE(!text.id.starts_with("rdma.rate.") || in_code.contains(text.id))
        << text.id << " has no check";
}

TEST(RdmaRateRules, AHealthyBusyLinkIsQuiet) {
  for (const RdmaPortReading& port : {infiniband(), roce()}) {
    RdmaPortReading later = busy(port);
    // What every busy port counts: waits, a little congestion control, a repaired bit.
    set_port(later, "port_xmit_wait", 40'000'000);
    set_hardware(later, "np_cnp_sent", 2000);
    set_hardware(later, "rp_cnp_handled", 2000);
    set_hardware(later, "np_ecn_marked_roce_packets", 200'000);
    set_hardware(later, "out_of_sequence", 9);
    set_port(later, "symbol_error", 9);
    const model::Diagnosis diagnosis = judge(rates(port, later));
    EXPECT_TRUE(diagnosis.findings.empty()) << diagnosis.findings.front().title;
    EXPECT_TRUE(diagnosis.undecided.empty()) << diagnosis.undecided.front().missing;
    // A single InfiniBand port has no like ones, and no pauses: two rules have nothing to look at.
    const std::size_t blind = port.link_layer == LinkLayer::kInfiniBand ? 2 : 0;
    EXPECT_EQ(diagnosis.held.size(), rate_rules().size() - blind);
    EXPECT_EQ(diagnosis.not_applicable.size(), blind);
  }
}

RdmaPortReading after_days(RdmaPortReading port, std::uint64_t days) {
  const auto time = static_cast<std::int64_t>(days * 86400 * kSecond);
  RdmaPortReading later = busy(std::move(port));
  *later.moment.wall += time;
  *later.moment.boot += time;
  return later;
}

// What a healthy host counts in a month is no finding, however often it is more than two.
TEST(RdmaRateRules, AMonthIsNotAMinute) {
  RdmaPortReading later = after_days(infiniband(), 30);
  set_port(later, "port_rcv_data", 7 + 1'600'000'000'000'000);  // 20 Gb/s
  set_port(later, "port_rcv_errors", 10);
  set_port(later, "link_error_recovery", 8);
  set_hardware(later, "local_ack_timeout_err", 17);
  EXPECT_TRUE(judge(rates(infiniband(), later)).findings.empty());
  RdmaPortReading day = after_days(infiniband(), 1);
  set_port(day, "link_error_recovery", 7 + 30);
  EXPECT_EQ(findings_of(rates(infiniband(), day), "rdma.rate.bit-errors").size(), 1U);
  RdmaPortReading host = after_days(roce(), 7);
  set_ethtool(host, "outbound_pci_stalled_wr_events", 60);  // seconds of 604,800
  RdmaPortReading first = roce();
  set_ethtool(first, "outbound_pci_stalled_wr_events", 0);
  EXPECT_TRUE(findings_of(rates(first, host), "rdma.rate.host-limit").empty());
  set_ethtool(host, "outbound_pci_stalled_wr_events", 30'000);
  const auto found = findings_of(rates(first, host), "rdma.rate.host-limit");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(seen(found[0], "5 % of the time"));
}

TEST(RdmaRateRules, WithoutPortsNothingApplies) {
  const model::Diagnosis diagnosis = judge(model::RdmaRates{});
  EXPECT_TRUE(diagnosis.held.empty());
  EXPECT_EQ(diagnosis.not_applicable.size(), rate_rules().size());
}

TEST(RdmaRateRules, TheSameTroubleOfSeveralPortsIsOneFinding) {
  std::vector<RdmaPortReading> before;
  std::vector<RdmaPortReading> after;
  for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2"}) {
    before.push_back(port_of(name, LinkLayer::kInfiniBand));
    after.push_back(busy(before.back()));
  }
  set_port(after[0], "link_downed", 8);
  set_port(after[2], "link_downed", 9);
  const auto found =
      findings_of(make_rates(std::vector{reading_of(before), reading_of(after)}), "rdma.rate.link-down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "A link went down while it was watched (2 ports)");
  EXPECT_EQ(found[0].devices, (std::vector<std::string>{"mlx5_0 port 1", "mlx5_2 port 1"}));
  EXPECT_EQ(found[0].evidence[1].text, "mlx5_2 port 1 went down 2 times and is up again");
  EXPECT_EQ(found[0].fixes[0].command, "sudo mlxlink -d <device> -m");
}

TEST(RdmaRateLinkDown, FiresOnTheCounterAndOnTheState) {
  RdmaPortReading later = busy(infiniband());
  set_port(later, "link_downed", 9);
  const auto found = findings_of(rates(infiniband(), later), "rdma.rate.link-down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 port 1 went down 2 times and is up again");
  EXPECT_EQ(found[0].severity, Severity::kCritical);
  EXPECT_EQ(found[0].evidence[0].text, "link_downed +2 in 10 s");
  EXPECT_EQ(found[0].evidence[0].source, "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed");
  RdmaPortReading down = idle(infiniband());
  down.state = "DOWN";
  const auto state = findings_of(rates(infiniband(), down), "rdma.rate.link-down");
  ASSERT_EQ(state.size(), 1U);
  EXPECT_EQ(state[0].title, "mlx5_0 port 1 went down and is not up");
}

TEST(RdmaRateLinkDown, FiresMildlyOnOneInDaysAndOnALostSubnetManager) {
  RdmaPortReading later = after_days(infiniband(), 30);
  set_port(later, "link_downed", 8);
  EXPECT_EQ(findings_of(rates(infiniband(), later), "rdma.rate.link-down").at(0).severity,
            Severity::kWarning);
  RdmaPortReading init = idle(infiniband());
  init.state = "INIT";
  const auto found = findings_of(rates(infiniband(), init), "rdma.rate.link-down");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(contains(found[0].title, "left ACTIVE and is INIT: its link is up")) << found[0].title;
  ASSERT_EQ(found[0].fixes.size(), 1U);
  EXPECT_EQ(found[0].fixes[0].command, "sudo sminfo");
  EXPECT_EQ(found[0].cost.text, "50 GB/s in each direction until it is ACTIVE again");
}

TEST(RdmaRateLinkDown, SilentOnAPortThatWasDownAllTheTime) {
  RdmaPortReading down = infiniband();
  down.state = "DOWN";
  EXPECT_TRUE(held(rates(down, idle(down)), "rdma.rate.link-down"));
}

TEST(RdmaRateLinkDown, UndecidedWhenTheCounterIsFull) {
  RdmaPortReading port = infiniband();
  set_port(port, "link_downed", 255);
  const auto gaps = gaps_of(rates(port, busy(port)), "rdma.rate.link-down");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_TRUE(contains(gaps[0], "stands at its maximum 255"));
}

TEST(RdmaRateBitErrors, FiresAboveTheRatioOfTheLine) {
  RdmaPortReading later = busy(infiniband());
  set_port(later, "symbol_error", 7 + 800);
  const auto found = findings_of(rates(infiniband(), later), "rdma.rate.bit-errors");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].text, "symbol_error +800 in 10 s: 2.0e-10 a bit, 1e-12 is allowed");
  RdmaPortReading recovered = busy(infiniband());
  set_port(recovered, "link_error_recovery", 8);
  EXPECT_EQ(findings_of(rates(infiniband(), recovered), "rdma.rate.bit-errors").size(), 1U);
  // Damaged packets of the bits that arrived: 340 Gb/s for 10 s.
  RdmaPortReading damaged = busy(infiniband());
  set_port(damaged, "port_rcv_errors", 7 + 34);
  const auto packets = findings_of(rates(infiniband(), damaged), "rdma.rate.bit-errors");
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].evidence[0].text,
            "port_rcv_errors +34 in 10 s: at least 1.0e-11 a bit, 1e-12 is allowed");
}

TEST(RdmaRateBitErrors, SilentOnAFewAndWhereTheLinkCameUp) {
  RdmaPortReading later = busy(infiniband());
  set_port(later, "symbol_error", 7 + 4);  // 1e-12 of 4e12 bits
  set_port(later, "port_rcv_errors", 9);
  EXPECT_TRUE(held(rates(infiniband(), later), "rdma.rate.bit-errors"));
  set_port(later, "symbol_error", 7 + 800);
  set_port(later, "link_downed", 8);
  EXPECT_TRUE(findings_of(rates(infiniband(), later), "rdma.rate.bit-errors").empty());
}

TEST(RdmaRateBitErrors, UndecidedWithoutTimeOrAtTheMaximum) {
  RdmaPortReading port = infiniband();
  RdmaPortReading later = busy(port);
  set_port(later, "symbol_error", 807);
  port.moment = {};
  later.moment = {};
  EXPECT_EQ(gaps_of(rates(port, later), "rdma.rate.bit-errors").size(), 1U);
  RdmaPortReading full = infiniband();
  set_port(full, "symbol_error", 65535);
  EXPECT_EQ(gaps_of(rates(full, busy(full)), "rdma.rate.bit-errors").size(), 1U);
}

TEST(RdmaRateLoss, FiresOnLossyRoce) {
  RdmaPortReading later = busy(roce());
  set_hardware(later, "out_of_sequence", 7 + 40'000);
  set_hardware(later, "packet_seq_err", 7 + 20'000);
  set_ethtool(later, "rx_discards_phy", 60'000);
  const auto found = findings_of(rates(roce(), later), "rdma.rate.loss");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 port 1 loses packets: one in 1729");
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_TRUE(seen(found[0], "out_of_sequence +40000 in 10 s: 3.9e-04 of 103759765 packets received"));
  EXPECT_TRUE(contains(found[0].fixes.front().command, "mlnx_qos -i eth0"));
}

TEST(RdmaRateLoss, FiresCriticallyWhereNothingGetsThrough) {
  RdmaPortReading later = busy(roce());
  set_hardware(later, "packet_seq_err", 7 + 2'000'000);
  const auto found = findings_of(rates(roce(), later), "rdma.rate.loss");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kCritical);
}

TEST(RdmaRateLoss, SilentOnReorderingOfInfiniBand) {
  RdmaPortReading later = busy(infiniband());
  set_hardware(later, "out_of_sequence", 4'000'000);  // adaptive routing
  EXPECT_TRUE(held(rates(infiniband(), later), "rdma.rate.loss"));
}

TEST(RdmaRateLoss, UndecidedWithoutPacketsOrCounters) {
  RdmaPortReading later = idle(roce());
  set_hardware(later, "packet_seq_err", 7 + 500);
  EXPECT_EQ(gaps_of(rates(roce(), later), "rdma.rate.loss").size(), 1U);
  RdmaPortReading refused = busy(roce());
  refuse(refused, "packet_seq_err");
  const auto gaps = gaps_of(rates(roce(), refused), "rdma.rate.loss");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0], "packet_seq_err of mlx5_0 port 1 could not be read: Invalid argument (EINVAL)");
}

// An adapter that has no ports/N/counters: its driver's own names for packets, gaps and what was sent again.
TEST(RdmaRateLoss, ReadsTheNamesOfBroadcomsDriver) {
  RdmaPortReading before = roce();
  before.device = "bnxt_re0";
  before.counters.clear();
  for (const char* name : {"tx_pkts", "rx_pkts", "tx_bytes", "rx_bytes", "seq_err_naks_rcvd",
                           "oos_drop_count", "rx_roce_discards", "to_retransmits", "rnr_naks_rcvd"})
    set_hardware(before, name, 5);
  RdmaPortReading later = before;
  *later.moment.wall += static_cast<std::int64_t>(10 * kSecond);
  *later.moment.boot += static_cast<std::int64_t>(10 * kSecond);
  for (const char* name : {"tx_pkts", "rx_pkts"})
    set_hardware(later, name, 5 + 100'000'000);
  for (const char* name : {"tx_bytes", "rx_bytes"})
    set_hardware(later, name, 400'000'000'000);
  EXPECT_TRUE(held(rates(before, later), "rdma.rate.loss"));
  EXPECT_TRUE(held(rates(before, later), "rdma.rate.timeouts"));
  set_hardware(later, "seq_err_naks_rcvd", 5 + 20'000);
  set_hardware(later, "to_retransmits", 5 + 12);
  const auto found = findings_of(rates(before, later), "rdma.rate.loss");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(seen(found[0], "seq_err_naks_rcvd +20000 in 10 s: 2.0e-04 of 100000000 packets sent"));
  EXPECT_EQ(findings_of(rates(before, later), "rdma.rate.timeouts").size(), 1U);
}

TEST(RdmaRateTimeouts, FiresFromThree) {
  RdmaPortReading later = busy(infiniband());
  set_hardware(later, "local_ack_timeout_err", 10);
  const auto found = findings_of(rates(infiniband(), later), "rdma.rate.timeouts");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 port 1 waited 3 times for an acknowledgement that did not come in time");
  EXPECT_TRUE(found[0].cost.text.starts_with("4.3 s of standstill each time")) << found[0].cost.text;
}

TEST(RdmaRateTimeouts, SilentOnPeersThatEnd) {
  RdmaPortReading later = busy(infiniband());
  set_hardware(later, "local_ack_timeout_err", 9);
  EXPECT_TRUE(held(rates(infiniband(), later), "rdma.rate.timeouts"));
}

TEST(RdmaRateTimeouts, UndecidedWhereItCannotBeRead) {
  RdmaPortReading later = busy(infiniband());
  refuse(later, "local_ack_timeout_err");
  EXPECT_EQ(gaps_of(rates(infiniband(), later), "rdma.rate.timeouts").size(), 1U);
}

TEST(RdmaRateCongestion, FiresOnPausesAndMarks) {
  RdmaPortReading later = busy(roce());
  set_ethtool(later, "rx_prio3_pause_duration", 1'500'000);  // us of 10 s
  set_hardware(later, "np_ecn_marked_roce_packets", 20'000'000);
  const auto found = findings_of(rates(roce(), later), "rdma.rate.congestion");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "mlx5_0 port 1 is held back by the fabric for 15 % of the time");
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].evidence[0].source, "ethtool -S eth0, rx_prio3_pause_duration");
  EXPECT_EQ(found[0].cost.text, "60 Gb/s of 400 Gb/s that the port could send");
  EXPECT_TRUE(seen(found[0], "19 % of the packets received"));
}

TEST(RdmaRateCongestion, FiresOnTheOneThatWaitsMuchLonger) {
  std::vector<RdmaPortReading> before;
  std::vector<RdmaPortReading> after;
  for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}) {
    before.push_back(port_of(name, LinkLayer::kInfiniBand));
    after.push_back(busy(before.back()));
    set_port(after.back(), "port_xmit_wait", 1'000'000);
  }
  EXPECT_TRUE(held(make_rates(std::vector{reading_of(before), reading_of(after)}), "rdma.rate.congestion"));
  set_port(after[2], "port_xmit_wait", 30'000'000);
  const auto found =
      findings_of(make_rates(std::vector{reading_of(before), reading_of(after)}), "rdma.rate.congestion");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  EXPECT_EQ(found[0].devices, std::vector<std::string>{"mlx5_2 port 1"});
  EXPECT_TRUE(seen(found[0], "30 times the median of the 4 like ports"));
}

TEST(RdmaRateCongestion, SilentOnShortPauses) {
  RdmaPortReading later = busy(roce());
  set_ethtool(later, "rx_prio3_pause_duration", 100'000);  // 1 %
  EXPECT_TRUE(held(rates(roce(), later), "rdma.rate.congestion"));
}

TEST(RdmaRateCongestion, UndecidedWithoutTime) {
  RdmaPortReading port = roce();
  RdmaPortReading later = busy(port);
  set_ethtool(later, "rx_prio3_pause_duration", 1'500'000);
  port.moment = {};
  later.moment = {};
  EXPECT_EQ(gaps_of(rates(port, later), "rdma.rate.congestion").size(), 1U);
}

TEST(RdmaRateHostLimit, FiresOnPcieAndOnSlowReceivers) {
  RdmaPortReading later = busy(roce());
  set_ethtool(later, "outbound_pci_stalled_wr", 74);
  set_ethtool(later, "tx_prio3_pause_duration", 900'000);
  const auto pcie = findings_of(rates(roce(), later), "rdma.rate.host-limit");
  ASSERT_EQ(pcie.size(), 1U);
  EXPECT_EQ(pcie[0].evidence[0].text, "outbound_pci_stalled_wr 74 % of a second");
  EXPECT_TRUE(seen(pcie[0], "9 % of the time this host stopped the switch"));
  ASSERT_EQ(pcie[0].fixes.size(), 1U);
  EXPECT_EQ(pcie[0].fixes[0].command, "angio doctor");
  RdmaPortReading slow = busy(infiniband());
  set_hardware(slow, "rnr_nak_retry_err", 7 + 50'000);
  const auto receiver = findings_of(rates(infiniband(), slow), "rdma.rate.host-limit");
  ASSERT_EQ(receiver.size(), 1U);
  EXPECT_EQ(receiver[0].fixes[0].command, "angio ps");
}

TEST(RdmaRateHostLimit, SilentOnTheEthernetDriversQueues) {
  RdmaPortReading port = roce();
  set_ethtool(port, "rx_out_of_buffer", 0);
  RdmaPortReading later = busy(port);
  set_ethtool(later, "rx_out_of_buffer", 1'000'000);
  set_ethtool(later, "outbound_pci_stalled_wr", 20);
  EXPECT_TRUE(held(rates(port, later), "rdma.rate.host-limit"));
}

TEST(RdmaRateHostLimit, UndecidedWhereCountersAreGone) {
  RdmaPortReading later = busy(roce());
  std::erase_if(later.counters, [](const auto& counter) { return counter.name == "out_of_buffer"; });
  const auto gaps = gaps_of(rates(roce(), later), "rdma.rate.host-limit");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_TRUE(contains(gaps[0], "is not any more"));
}

TEST(RdmaRatePauseStorm, FiresOnOne) {
  RdmaPortReading later = busy(roce());
  set_ethtool(later, "tx_pause_storm_warning_events", 1);
  const auto found = findings_of(rates(roce(), later), "rdma.rate.pause-storm");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kCritical);
}

TEST(RdmaRatePauseStorm, SilentOnAnOldOne) {
  RdmaPortReading port = roce();
  set_ethtool(port, "tx_pause_storm_warning_events", 4);
  EXPECT_TRUE(held(rates(port, busy(port)), "rdma.rate.pause-storm"));
}

TEST(RdmaRatePauseStorm, UndecidedWhereItCannotBeRead) {
  RdmaPortReading later = busy(roce());
  refuse(later, "tx_pause_storm_warning_events");
  EXPECT_EQ(gaps_of(rates(roce(), later), "rdma.rate.pause-storm").size(), 1U);
}

}  // namespace
}  // namespace angio::rdma::test
