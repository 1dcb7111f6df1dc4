// Links: down while watched, and bit errors.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

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

// Bits are exchanged, but the port may not be used: that is the subnet manager's to give, not the cable's.
bool lost_its_subnet_manager(const RdmaPortRates& port) {
  return port.physical_state == "LinkUp" && (port.state == "INIT" || port.state == "ARMED");
}

std::string down_title(const RdmaPortRates& port, std::uint64_t times) {
  if (times == 0 && lost_its_subnet_manager(port))
    return fmt::format("{} left ACTIVE and is {}: its link is up, the subnet manager has not set it up again",
                       label(port), port.state);
  const char* end = port.state == "ACTIVE" ? "and is up again" : "and is not up";
  if (times == 0) return fmt::format("{} went down {}", label(port), end);
  return fmt::format("{} went down {} {}", label(port), times == 1 ? "once" : fmt::format("{} times", times),
                     end);
}

Draft down_draft(const RdmaPortRates& port, std::uint64_t times) {
  Draft draft = draft_of(port, down_title(port, times));
  draft.words[times == 0 && lost_its_subnet_manager(port) ? "subnet_manager" : "cable"] = "";
  const std::optional<BitsPerSecond> rate = port.rate_was ? port.rate_was : port.rate;
  if (port.state != "ACTIVE" && rate)
    draft.cost = {in_words(to_bytes(*rate)) + " in each direction until it is ACTIVE again", "port-rate"};
  // Once in days is a restart of a peer more often than a fault.
  if (port.state == "ACTIVE" && in_an_hour(port, times) < knowledge::threshold("rdma.rate.rare"))
    draft.severity = model::Severity::kWarning;
  draft.rank = 1;
  return draft;
}

}  // namespace

void link_down(const model::RdmaRates& rates, Outcome& outcome) {
  for (const RdmaPortRates* port : watched_ports(rates)) {
    const Counters counters(*port);
    const std::uint64_t times =
        std::max(counters.growth("link_downed"), counters.growth("link_down_events_phy"));
    if (times == 0 && !went_down(*port)) {
      report_gaps(*port, {"link_downed", "link_down_events_phy"}, outcome);
      continue;
    }
    Draft draft = down_draft(*port, times);
    for (const char* name : {"link_downed", "link_down_events_phy", "link_error_recovery", "symbol_error"})
      if (const RdmaChange* change = counters.greatest(name)) draft.evidence.push_back(grew(*port, *change));
    if (port->states.size() > 1)
      draft.evidence.push_back(
          {"state " + join(port->states, ", then "),
           fmt::format("/sys/class/infiniband/{}/ports/{}/state", port->device, port->port)});
    outcome.fire(std::move(draft));
  }
}

namespace {

struct Damage {
  const char* name;
  bool of_packets;  // each is one wrong bit at least; a packet that is not there cannot be damaged
};
constexpr std::array kDamage = {Damage{"symbol_error", false}, Damage{"rx_pcs_symbol_err_phy", false},
                                Damage{"port_rcv_errors", true}, Damage{"rx_crc_errors_phy", true},
                                Damage{"rx_symbol_err_phy", true}};
// Repairs of the link: not errors that have a share of the bits, but each stops the traffic.
constexpr std::array kRepairs = {"link_error_recovery", "local_link_integrity_errors"};
constexpr std::array kNames = {"symbol_error",
                               "rx_pcs_symbol_err_phy",
                               "port_rcv_errors",
                               "rx_crc_errors_phy",
                               "rx_symbol_err_phy",
                               "link_error_recovery",
                               "local_link_integrity_errors"};

// A line carries symbols idle or busy, at its data rate.
double bits_of(const RdmaPortRates& port, const Damage& damage) {
  const bool known = port.traffic && !port.traffic->at_least && !port.traffic->of_interface &&
                     port.traffic->received.value > 0;
  return (damage.of_packets && known ? port.traffic->received.value : port.rate->value) * *port.seconds;
}

// Errors a bit, where there are enough to speak of a ratio.
void judge_damage(const RdmaPortRates& port, const Damage& damage, Draft& draft, Outcome& outcome) {
  const RdmaChange* found = Counters(port).greatest(damage.name);
  if (found == nullptr) return;
  const RdmaChange& change = *found;
  if (static_cast<double>(change.growth) < knowledge::threshold("rdma.rate.fewest-events")) return;
  if (!port.seconds || !port.rate) {
    outcome.undecided(
        fmt::format("{} of {} grew by {}; {} not known, so neither is the ratio", change.name, label(port),
                    change.growth, port.seconds ? "the port's rate is" : "the time between the readings is"),
        port.seconds ? "ibstat " + port.device : "angio rdma --for 60s under load");
    return;
  }
  const double ratio = static_cast<double>(change.growth) / bits_of(port, damage);
  if (ratio <= knowledge::threshold("rdma.rate.bit-errors")) return;
  draft.evidence.push_back(grew(
      port, change,
      fmt::format("{}{} a bit, 1e-12 is allowed", damage.of_packets ? "at least " : "", ratio_words(ratio))));
}

void judge_repairs(const RdmaPortRates& port, const char* name, Draft& draft) {
  const RdmaChange* change = Counters(port).greatest(name);
  if (change == nullptr || in_an_hour(port, change->growth) < knowledge::threshold("rdma.rate.rare")) return;
  draft.evidence.push_back(grew(port, *change));
}

}  // namespace

void bit_errors(const model::RdmaRates& rates, Outcome& outcome) {
  for (const RdmaPortRates* port : counting_ports(rates, kNames, outcome)) {
    const Counters counters(*port);
    // A link that comes up counts errors: the other rule's finding has them.
    if (went_down(*port) || counters.growth("link_downed") + counters.growth("link_down_events_phy") > 0)
      continue;
    Draft draft = draft_of(*port, label(*port) + " makes more bit errors than a link may");
    for (const Damage& damage : kDamage)
      judge_damage(*port, damage, draft, outcome);
    for (const char* name : kRepairs)
      judge_repairs(*port, name, draft);
    if (draft.evidence.empty()) {
      report_gaps(*port, {"symbol_error", "rx_pcs_symbol_err_phy"}, outcome);
      continue;
    }
    draft.rank = 0.5;
    outcome.fire(std::move(draft));
  }
}

}  // namespace angio::rdma
