// Steps that look at counters and beyond the host: congestion, errors, limits of the host, the switch.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "knowledge/rdma_counters.hpp"
#include "rdma/bandwidth_steps.hpp"
#include "rdma/rates.hpp"

namespace angio::rdma {

using model::RdmaChange;
using model::RdmaStep;
using model::RdmaVerdict;

void add_growth(const Case& that, std::initializer_list<std::string_view> names, RdmaStep& step) {
  const Counters counters(that.port);
  for (const std::string_view name : names) {
    const RdmaChange* change = counters.greatest(name);
    if (change == nullptr) continue;
    const knowledge::RdmaCounterFact* fact = knowledge::find_rdma_counter(name);
    if (fact != nullptr && fact->unit == "percent") {
      step.seen.push_back(fmt::format("{} {} % of a second", change->name, change->growth));
    } else {
      step.seen.push_back(fmt::format("{} +{}{}", change->name, change->growth,
                                      fact != nullptr ? " " + std::string(fact->unit) : ""));
    }
  }
}

bool has_finding(const Case& that, std::string_view rule) {
  return std::ranges::any_of(that.diagnosis.findings, [&](const model::Finding& finding) {
    return finding.rule == rule &&
           std::ranges::find(finding.devices, label(that.port)) != finding.devices.end();
  });
}

namespace {

bool is_undecided(const Case& that, std::string_view rule) {
  return std::ranges::any_of(that.diagnosis.undecided, [&](const model::Undecided& gap) {
    return gap.rule == rule && gap.missing.find(label(that.port)) != std::string::npos;
  });
}

// Whether a port has at least one of the counters that the step rests on.
bool has_any(const Case& that, std::initializer_list<std::string_view> names) {
  const Counters counters(that.port);
  return std::ranges::any_of(names, [&](std::string_view name) {
    const RdmaChange* change = counters.find(name);
    return change != nullptr && change->after.has_value();
  });
}

// As iproute2's rdma names it.
std::string link_name(const Case& that) {
  return fmt::format("{}/{}", that.port.device, that.port.port);
}

// Fine needs traffic: an idle port counts nothing, whatever is wrong.
void conclude(const Case& that, std::initializer_list<std::string_view> rules, bool counted, RdmaStep& step) {
  const auto found = [&](std::string_view rule) { return has_finding(that, rule); };
  const auto open = [&](std::string_view rule) { return is_undecided(that, rule); };
  if (std::ranges::any_of(rules, found)) {
    step.verdict = RdmaVerdict::kNarrows;
    step.next.push_back("see the findings");
  } else if (!that.port.seconds || !that.port.traffic) {
    step.seen.push_back("how much the port carried is not known: quiet counters prove nothing");
  } else if (that.port.idle) {
    step.seen.push_back("no traffic was watched: quiet counters prove nothing");
    step.next.push_back("angio rdma --for 30s while the transfer runs");
  } else if (that.port.traffic->at_least) {
    step.seen.push_back("counters were set back or stand at their maximum meanwhile: not all is known");
  } else if (std::ranges::any_of(rules, open)) {
    step.seen.push_back("not every counter could be judged: see UNDECIDED");
  } else if (counted) {
    step.verdict = RdmaVerdict::kFine;
  }
}

}  // namespace

RdmaStep step_congestion(const Case& that) {
  RdmaStep step{.topic = "congestion of the fabric"};
  add_growth(that,
             {"port_xmit_wait", "rx_prio_pause", "rx_prio_pause_duration", "rx_global_pause",
              "rx_global_pause_duration", "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets"},
             step);
  const bool counted =
      is_infiniband(that)
          ? has_any(that, {"port_xmit_wait"})
          : has_any(that, {"np_cnp_sent", "rx_prio_pause", "rx_global_pause", "rx_prio_pause_duration"});
  if (!counted) {
    step.seen.push_back(is_infiniband(that)
                            ? "the port has no port_xmit_wait"
                            : "no counter of pauses or congestion notifications is known here");
    step.next.push_back(is_infiniband(that) ? "perfquery -x"
                        : is_roce(that)     ? "the switch's counters of pauses and ECN marks"
                                            : "rdma statistic show link " + link_name(that));
  } else if (step.seen.empty()) {
    step.seen.push_back(is_infiniband(that) ? "never waited for credits"
                                            : "no pause, no congestion notification");
  }
  conclude(that, {"rdma.rate.congestion"}, counted, step);
  // Waiting for credits is part of every busy link, and the length of a tick is the maker's.
  const Counters counters(that.port);
  if (is_infiniband(that) && step.verdict == RdmaVerdict::kFine && counters.growth("port_xmit_wait") > 0) {
    step.verdict = RdmaVerdict::kUnknown;
    step.seen.push_back(
        "how long a tick of port_xmit_wait is, is the maker's: only like ports under like load compare");
    step.next.push_back(
        "the same on the sibling ports and on the peers; perfquery -c LID PORT shows the port's Tick");
  }
  return step;
}

RdmaStep step_errors(const Case& that) {
  RdmaStep step{.topic = "errors and retransmissions"};
  add_growth(
      that,
      {"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "rx_pcs_symbol_err_phy",
       "rx_crc_errors_phy", "out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "roce_adp_retrans",
       "port_xmit_discards", "rx_discards_phy", "rx_prio_discards"},
      step);
  const bool counted = has_any(that, {"symbol_error", "packet_seq_err", "rcvd_seq_err"});
  if (counted && step.seen.empty()) step.seen.push_back("no error counter grew");
  if (!counted) {
    step.seen.push_back("the port has no error counters that are known here");
    step.next.push_back("rdma statistic show link " + link_name(that));
  }
  conclude(that, {"rdma.rate.bit-errors", "rdma.rate.link-down", "rdma.rate.loss", "rdma.rate.timeouts"},
           counted, step);
  return step;
}

RdmaStep step_host(const Case& that) {
  RdmaStep step{.topic = "limits of the host"};
  add_growth(that,
             {"outbound_pci_stalled_wr", "outbound_pci_stalled_rd", "outbound_pci_stalled_wr_events",
              "outbound_pci_stalled_rd_events", "outbound_pci_buffer_overflow", "tx_prio_pause_duration",
              "tx_global_pause_duration", "out_of_buffer", "rnr_nak_retry_err", "rx_out_of_buffer"},
             step);
  const bool counted = has_any(that, {"outbound_pci_stalled_wr"});
  if (!counted) {
    step.seen.push_back("the adapter's PCIe stalls are not known");
    step.next.push_back(is_roce(that) ? "ethtool -S INTERFACE | grep pci"
                        : is_infiniband(that)
                            ? "on InfiniBand ethtool has none: mlnx_perf, neohost or the doctor's PCIe rules"
                            : "the doctor's PCIe rules");
  } else if (step.seen.empty()) {
    step.seen.push_back("no stall on PCIe, no missing receive buffer");
  }
  conclude(that, {"rdma.rate.host-limit", "rdma.rate.pause-storm"}, counted, step);
  return step;
}

RdmaStep step_switch(const Case& that) {
  RdmaStep step{.topic = "the switch's side"};
  step.seen.push_back("not visible from this host");
  std::string who = that.port.node_guid.empty()
                        ? label(that.port)
                        : fmt::format("{} (node GUID {})", label(that.port), that.port.node_guid);
  const Lid* lid = that.known != nullptr ? that.known->lid.get() : nullptr;
  if (is_infiniband(that)) {
    if (lid != nullptr && lid->value != 0) who += fmt::format(", LID {}", lid->value);
    step.next = {"which switch port this is: iblinkinfo, the line of " + who,
                 "there, twice a minute apart: PortXmitWait, PortXmitDiscards, SymbolErrorCounter, "
                 "LinkErrorRecoveryCounter, PortRcvSwitchRelayErrors (perfquery -x LID PORT)",
                 "along the path: ibtracert to the peer's LID, then the same counters; angio fabric scan "
                 "looks at all of it"};
    return step;
  }
  if (!is_roce(that)) {
    step.next = {"which switch port this is, and its drops and errors: the network's administrator, for " +
                 who};
    return step;
  }
  const std::string interface = that.port.interfaces.empty() ? "INTERFACE" : that.port.interfaces.front();
  step.next = {
      "which switch port this is: lldpctl " + interface,
      "there: PFC on the priority of RDMA alone and the same as here (mlnx_qos -i " + interface +
          "), trust DSCP, that class lossless end to end",
      "drops on the lossless queue, headroom (xoff) of the ingress buffer for this cable's length, ECN "
      "thresholds of the egress queue",
      "PFC frames sent and received by priority, and whether the PFC watchdog fired (a pause storm)",
      "load of the uplinks and how flows are hashed over them"};
  return step;
}

}  // namespace angio::rdma
