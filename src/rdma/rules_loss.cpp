// Packets that are lost or not acknowledged in time.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "knowledge/knowledge.hpp"
#include "rdma/rules.hpp"

namespace angio::rdma {

using diagnose::Draft;
using diagnose::Outcome;
using model::RdmaChange;
using model::RdmaPortRates;

namespace {

enum class Per : std::uint8_t { kSent, kReceived };

struct Lost {
  const char* name;
  Per per;
  bool roce_only;  // adaptive routing of InfiniBand reorders without loss
};
constexpr std::array kLost = {
    Lost{"out_of_sequence", Per::kReceived, true}, Lost{"out_of_seq_request", Per::kReceived, true},
    Lost{"packet_seq_err", Per::kSent, false}, Lost{"rcvd_seq_err", Per::kSent, false},
    Lost{"rx_icrc_encapsulated", Per::kReceived, true}, Lost{"port_xmit_discards", Per::kSent, false},
    Lost{"tx_discards_phy", Per::kSent, true}, Lost{"rx_discards_phy", Per::kReceived, true},
    // bnxt_re
    Lost{"oos_drop_count", Per::kReceived, true}, Lost{"seq_err_naks_rcvd", Per::kSent, false},
    Lost{"rx_roce_discards", Per::kReceived, true}, Lost{"tx_roce_discards", Per::kSent, true}};

constexpr std::array<const char*, kLost.size()> names_of_lost() {
  std::array<const char*, kLost.size()> names{};
  for (std::size_t i = 0; i < kLost.size(); ++i)
    names.at(i) = kLost.at(i).name;
  return names;
}
constexpr std::array kNames = names_of_lost();
constexpr std::array kTimeouts = {"local_ack_timeout_err", "roce_adp_retrans_to", "to_retransmits"};

// Discards at the physical port are of all traffic: the greater number of packets is the fair one.
std::uint64_t packets(const RdmaPortRates& port, const Lost& lost) {
  const Counters counters(port);
  const bool sent = lost.per == Per::kSent;
  const std::uint64_t rdma =
      port.traffic ? (sent ? port.traffic->packets_sent : port.traffic->packets_received) : 0;
  return std::max(rdma, counters.growth(sent ? "tx_packets_phy" : "rx_packets_phy"));
}

// The greatest share of packets that one counter saw lost; 0: none that is worth a word.
double judge_lost(const RdmaPortRates& port, Draft& draft, Outcome& outcome) {
  const Counters counters(port);
  double worst = 0;
  for (const Lost& lost : kLost) {
    const RdmaChange* change = counters.greatest(lost.name);
    if (change == nullptr || (lost.roce_only && layer_word(port) != "roce")) continue;
    if (static_cast<double>(change->growth) < knowledge::threshold("rdma.rate.fewest-events")) continue;
    const std::uint64_t all = packets(port, lost);
    if (all == 0) {
      outcome.undecided(fmt::format("{} of {} grew by {}, but the number of packets is not known", lost.name,
                                    label(port), change->growth),
                        "angio rdma --for 60s under load");
      continue;
    }
    const double share = static_cast<double>(change->growth) / static_cast<double>(all);
    if (share <= knowledge::threshold("rdma.rate.lost-share")) continue;
    worst = std::max(worst, share);
    draft.evidence.push_back(grew(port, *change,
                                  fmt::format("{} of {} packets {}", ratio_words(share), all,
                                              lost.per == Per::kSent ? "sent" : "received")));
  }
  return worst;
}

}  // namespace

void loss(const model::RdmaRates& rates, Outcome& outcome) {
  for (const RdmaPortRates* port : counting_ports(rates, kNames, outcome)) {
    Draft draft = draft_of(*port, "");
    const double worst = judge_lost(*port, draft, outcome);
    if (worst == 0) {
      report_gaps(*port, {"out_of_sequence", "packet_seq_err", "port_xmit_discards"}, outcome);
      continue;
    }
    draft.title = fmt::format("{} loses packets: {}", label(*port),
                              worst >= 0.001 ? ratio_words(worst) : fmt::format("one in {:.0f}", 1 / worst));
    draft.rank = std::min(1.0, worst);
    if (worst > knowledge::threshold("rdma.rate.lost-share-heavy"))
      draft.severity = model::Severity::kCritical;
    outcome.fire(std::move(draft));
  }
}

void timeouts(const model::RdmaRates& rates, Outcome& outcome) {
  for (const RdmaPortRates* port : counting_ports(rates, kTimeouts, outcome)) {
    const Counters counters(*port);
    Draft draft = draft_of(*port, "");
    std::uint64_t most = 0;
    for (const char* name : kTimeouts) {
      const RdmaChange* change = counters.greatest(name);
      // Peers that end count some every day.
      if (change == nullptr ||
          in_an_hour(*port, change->growth) < knowledge::threshold("rdma.rate.fewest-events"))
        continue;
      most = std::max(most, change->growth);
      draft.evidence.push_back(grew(*port, *change));
    }
    if (most == 0) {
      report_gaps(*port, {"local_ack_timeout_err"}, outcome);
      continue;
    }
    draft.title = fmt::format("{} waited {} times for an acknowledgement that did not come in time",
                              label(*port), most);
    draft.rank = 0.5;
    draft.cost = {
        fmt::format("{:.1f} s of standstill each time for one connection, with NCCL's default timeout",
                    knowledge::threshold("rdma.rate.ack-timeout")),
        "rdma-ack-timeout"};
    outcome.fire(std::move(draft));
  }
}

}  // namespace angio::rdma
