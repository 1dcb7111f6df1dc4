// Who holds whom back: the fabric this port, or this host the fabric.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "rdma/rules.hpp"

namespace angio::rdma {

using diagnose::Draft;
using diagnose::Outcome;
using model::RdmaChange;
using model::RdmaPortRates;

namespace {

constexpr double kMicroseconds = 1e-6;

// The share of the interval; the priority that stood still longest counts.
struct Pause {
  const RdmaChange* change = nullptr;
  double share = 0;
};

Pause longest_pause(const RdmaPortRates& port, const char* by_priority, const char* global) {
  Pause longest;
  if (!port.seconds) return longest;
  const Counters counters(port);
  for (const char* name : {by_priority, global}) {
    const RdmaChange* change = counters.greatest(name);
    if (change == nullptr) continue;
    const double share = static_cast<double>(change->growth) * kMicroseconds / *port.seconds;
    if (share > longest.share) longest = {change, std::min(share, 1.0)};
  }
  return longest;
}

// Of ports of one kind: waits a second; the tick's length is the maker's, so only like ports compare.
using Kind = std::tuple<model::LinkLayer, double, std::uint32_t>;

std::map<Kind, std::vector<double>> waits_by_kind(const model::RdmaRates& rates) {
  std::map<Kind, std::vector<double>> kinds;
  for (const RdmaPortRates* port : watched_ports(rates)) {
    const RdmaChange* wait = Counters(*port).find("port_xmit_wait");
    if (wait == nullptr || !wait->after || !port->seconds || !port->rate || port->idle) continue;
    kinds[{port->link_layer, port->rate->value, port->lanes}].push_back(static_cast<double>(wait->growth) /
                                                                        *port->seconds);
  }
  return kinds;
}

constexpr std::size_t kFewestAlike = 3;  // of two ports nobody knows which is the odd one

void judge_waits(const RdmaPortRates& port, const std::map<Kind, std::vector<double>>& kinds, Draft& draft) {
  const RdmaChange* wait = Counters(port).greatest("port_xmit_wait");
  if (wait == nullptr || !port.seconds || !port.rate || port.idle) return;
  const auto kind = kinds.find({port.link_layer, port.rate->value, port.lanes});
  if (kind == kinds.end() || kind->second.size() < kFewestAlike) return;
  std::vector<double> sorted = kind->second;
  std::ranges::sort(sorted);
  const double median = sorted[(sorted.size() - 1) / 2];
  const double own = static_cast<double>(wait->growth) / *port.seconds;
  if (median <= 0 || own <= median * knowledge::threshold("rdma.rate.wait-outlier")) return;
  draft.evidence.push_back(grew(
      port, *wait, fmt::format("{:.0f} times the median of the {} like ports", own / median, sorted.size())));
}

void judge_marks(const RdmaPortRates& port, Draft& draft) {
  const RdmaChange* marked = Counters(port).greatest("np_ecn_marked_roce_packets");
  if (marked == nullptr || !port.traffic || port.traffic->packets_received == 0) return;
  const double share =
      static_cast<double>(marked->growth) / static_cast<double>(port.traffic->packets_received);
  if (share <= knowledge::threshold("rdma.rate.marked-share")) return;
  draft.evidence.push_back(grew(port, *marked, ratio_words(share) + " of the packets received"));
}

constexpr std::array kHolds = {"rx_prio_pause_duration", "rx_global_pause_duration",
                               "np_ecn_marked_roce_packets", "port_xmit_wait"};

// Waits say something only beside like ports; marks and pauses are RoCE's.
bool can_be_held(const RdmaPortRates& port, const std::map<Kind, std::vector<double>>& kinds) {
  if (layer_word(port) != "infiniband") return true;
  const auto kind = port.rate ? kinds.find({port.link_layer, port.rate->value, port.lanes}) : kinds.end();
  return kind != kinds.end() && kind->second.size() >= kFewestAlike;
}

// What pauses took from the data rate.
void add_pause_cost(const RdmaPortRates& port, double share, Draft& draft) {
  if (!port.rate) return;
  draft.cost = {fmt::format("{} of {} that the port could send",
                            in_words(BitsPerSecond{port.rate->value * share}), in_words(*port.rate)),
                "rdma-paused"};
}

bool counts_pauses(const RdmaPortRates& port) {
  const Counters counters(port);
  return counters.growth("rx_prio_pause_duration") + counters.growth("rx_global_pause_duration") > 0;
}

}  // namespace

void congestion(const model::RdmaRates& rates, Outcome& outcome) {
  const std::map<Kind, std::vector<double>> kinds = waits_by_kind(rates);
  std::vector<const RdmaPortRates*> ports = counting_ports(rates, kHolds, outcome);
  std::erase_if(ports, [&](const RdmaPortRates* port) { return !can_be_held(*port, kinds); });
  if (ports.empty()) outcome.not_applicable();
  for (const RdmaPortRates* port : ports) {
    if (!port->seconds && counts_pauses(*port)) {
      outcome.undecided("pauses of " + label(*port) + ": the time between the readings is not known",
                        "angio rdma --for 60s under load");
      continue;
    }
    Draft draft = draft_of(*port, label(*port) + " is held back by the fabric");
    const Pause pause = longest_pause(*port, "rx_prio_pause_duration", "rx_global_pause_duration");
    if (pause.share > knowledge::threshold("rdma.rate.pause-share")) {
      draft.evidence.push_back(grew(*port, *pause.change, ratio_words(pause.share) + " of the time"));
      draft.title = fmt::format("{} is held back by the fabric for {} of the time", label(*port),
                                ratio_words(pause.share));
      draft.severity = model::Severity::kWarning;
      draft.rank = pause.share;
      add_pause_cost(*port, pause.share, draft);
    }
    judge_marks(*port, draft);
    judge_waits(*port, kinds, draft);
    if (!draft.evidence.empty()) outcome.fire(std::move(draft));
  }
}

namespace {

void judge_pcie(const RdmaPortRates& port, Draft& draft) {
  const Counters counters(port);
  const double fewest = knowledge::threshold("rdma.rate.fewest-events");
  for (const char* name : {"outbound_pci_stalled_wr", "outbound_pci_stalled_rd"}) {
    const RdmaChange* stalled = counters.greatest(name);
    if (stalled == nullptr ||
        static_cast<double>(stalled->growth) <= knowledge::threshold("rdma.rate.pci-stalled"))
      continue;
    draft.evidence.push_back(
        {fmt::format("{} {} % of a second", name, stalled->growth), place_of(port, *stalled)});
  }
  for (const char* name : {"outbound_pci_stalled_wr_events", "outbound_pci_stalled_rd_events"}) {
    const RdmaChange* change = counters.greatest(name);
    if (change == nullptr || static_cast<double>(change->growth) < fewest || !port.seconds) continue;
    const double share = std::min(1.0, static_cast<double>(change->growth) / *port.seconds);
    if (share > knowledge::threshold("rdma.rate.pause-share"))
      draft.evidence.push_back(grew(port, *change, ratio_words(share) + " of the time"));
  }
  const RdmaChange* dropped = counters.greatest("outbound_pci_buffer_overflow");
  const double packets = std::max(port.traffic ? static_cast<double>(port.traffic->packets_received) : 0.0,
                                  static_cast<double>(counters.growth("rx_packets_phy")));
  if (dropped != nullptr && static_cast<double>(dropped->growth) >= fewest &&
      static_cast<double>(dropped->growth) > packets * knowledge::threshold("rdma.rate.lost-share"))
    draft.evidence.push_back(grew(port, *dropped));
  const Pause pause = longest_pause(port, "tx_prio_pause_duration", "tx_global_pause_duration");
  if (pause.share > knowledge::threshold("rdma.rate.pause-share"))
    draft.evidence.push_back(
        grew(port, *pause.change, ratio_words(pause.share) + " of the time this host stopped the switch"));
  if (!draft.evidence.empty()) draft.words["pcie"] = "";
}

void judge_receiver(const RdmaPortRates& port, Draft& draft) {
  const Counters counters(port);
  if (!port.traffic) return;
  struct Refused {
    const char* name;
    std::uint64_t packets;
    const char* words;
  };
  for (const Refused& refused :
       {Refused{"out_of_buffer", port.traffic->packets_received, "of the packets received"},
        Refused{"rnr_nak_retry_err", port.traffic->packets_sent, "of the packets sent"},
        Refused{"rcvd_rnr_err", port.traffic->packets_sent, "of the packets sent"},
        Refused{"rnr_naks_rcvd", port.traffic->packets_sent, "of the packets sent"}}) {
    const RdmaChange* change = counters.greatest(refused.name);
    if (change == nullptr || refused.packets == 0) continue;
    const double share = static_cast<double>(change->growth) / static_cast<double>(refused.packets);
    if (static_cast<double>(change->growth) < knowledge::threshold("rdma.rate.fewest-events")) continue;
    if (share <= knowledge::threshold("rdma.rate.refused-share")) continue;
    draft.evidence.push_back(grew(port, *change, fmt::format("{} {}", ratio_words(share), refused.words)));
    draft.words["receiver"] = "";
  }
}

}  // namespace

void host_limit(const model::RdmaRates& rates, Outcome& outcome) {
  static constexpr std::array kNames = {"outbound_pci_stalled_wr",
                                        "outbound_pci_stalled_rd",
                                        "outbound_pci_stalled_wr_events",
                                        "outbound_pci_stalled_rd_events",
                                        "outbound_pci_buffer_overflow",
                                        "tx_prio_pause_duration",
                                        "tx_global_pause_duration",
                                        "out_of_buffer",
                                        "rnr_nak_retry_err",
                                        "rcvd_rnr_err",
                                        "rnr_naks_rcvd"};
  for (const RdmaPortRates* port : counting_ports(rates, kNames, outcome)) {
    Draft draft = draft_of(*port, "The host does not keep up with " + label(*port));
    judge_pcie(*port, draft);
    judge_receiver(*port, draft);
    if (draft.evidence.empty()) {
      report_gaps(*port, {"out_of_buffer", "outbound_pci_stalled_wr", "rnr_nak_retry_err"}, outcome);
      continue;
    }
    draft.rank = 0.4;
    outcome.fire(std::move(draft));
  }
}

void pause_storm(const model::RdmaRates& rates, Outcome& outcome) {
  static constexpr std::array kNames = {"tx_pause_storm_warning_events", "tx_pause_storm_error_events"};
  for (const RdmaPortRates* port : counting_ports(rates, kNames, outcome)) {
    const Counters counters(*port);
    Draft draft = draft_of(*port, label(*port) + " paused the switch for so long that it counts as a storm");
    for (const char* name : kNames)
      if (const RdmaChange* change = counters.greatest(name)) draft.evidence.push_back(grew(*port, *change));
    if (draft.evidence.empty()) {
      report_gaps(*port, {"tx_pause_storm_warning_events", "tx_pause_storm_error_events"}, outcome);
      continue;
    }
    draft.rank = 0.9;
    outcome.fire(std::move(draft));
  }
}

}  // namespace angio::rdma
