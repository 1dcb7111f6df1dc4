// FabricWalk: states, LIDs and counters of ports, and the Fabric at the end.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "probe/umad/walk.hpp"

namespace angio::probe::umad {

using model::FabricNodeKind;
using model::FabricPort;
using model::LaneSpeedName;
using model::PortRef;

namespace {

constexpr std::uint8_t kCountersSilent = 3;  // so many counters in a row without an answer: ask no more

// Whose devices know the attribute that tells FDR10 from QDR: NVIDIA (Mellanox) and Bull, as libibnetdisc.
bool may_be_fdr10(const model::FabricNode& node, const FabricPort& port) {
  return (node.vendor == 0x0002c9 || node.vendor == 0x00119f) && port.speed == LaneSpeedName::kQdr;
}

}  // namespace

void FabricWalk::take_port_info(const Ask& ask, Payload payload) {
  const auto index = index_of(ask.node, ask.port);
  if (!index) return;
  Node& node = nodes_[ask.node];
  const bool own_speeds = !is_switch(ask.node) || ask.port == 0;
  const SpeedFields fields = own_speeds ? parse_speed_fields(payload) : node.speeds;
  if (own_speeds) node.speeds = fields;
  FabricPort& port = fabric_.nodes[ask.node].ports[*index];
  apply_port_info(payload, fields, port);
  node.marks[*index].known = true;
  if (own_speeds) take_lids(ask.node, ask.port, payload);
  if (start_ && start_->node == ask.node &&
      (start_->port == *index || (is_switch(ask.node) && ask.port == 0)))
    routable_ = routable_ || (port.lid && port.state == model::PortState::kActive);
  if (may_be_fdr10(fabric_.nodes[ask.node], port)) this->ask(Question::kVendorPortInfo, ask.node, ask.port);
  if (ask.port == 0) ask_other_ports(ask.node);
  explore(ask.node, ask.port);
  if (is_switch(ask.node) ? ask.port != 0 || fabric_.nodes[ask.node].enhanced_port0
                          : node.marks[*index].reached)
    want_counters(ask.node, ask.port);
}

void FabricWalk::take_lids(std::uint32_t node, std::uint32_t port, Payload payload) {
  const PortLids lids = parse_lids(payload);
  const auto index = index_of(node, port);
  FabricPort& own = fabric_.nodes[node].ports[*index];
  if (lids.sm_lid != 0 && lids.sm_lid < kFirstMulticast) own.sm_lid = Lid{lids.sm_lid};
  if (lids.lid == 0) return;
  if (lids.lid >= kFirstMulticast) {
    trouble(node, port,
            fmt::format("LID {} is none of a port (they end at {})", lids.lid, kFirstMulticast - 1));
    notes_.add("scan.lid-range", fmt::format("{} says that its LID is {}", words(node, port), lids.lid));
    return;
  }
  own.lid = Lid{lids.lid};
  // Another port of an adapter may belong to another subnet, whose LIDs are none of this one.
  const bool here = is_switch(node) || nodes_[node].marks[*index].reached;
  if (here && claim_lids(node, port, lids) && is_switch(node)) nodes_[node].switch_lid = lids.lid;
}

// False when another port has one of them: what is asked by it may be answered by either.
bool FabricWalk::claim_lids(std::uint32_t node, std::uint32_t port, const PortLids& lids) {
  const std::uint64_t owner = (std::uint64_t{node} << 8U | port) + 1;
  const std::uint32_t end = std::min<std::uint32_t>(lids.lid + (1U << lids.lmc), kFirstMulticast);
  for (std::uint32_t lid = lids.lid; lid < end; ++lid) {
    std::uint64_t& known = lid_owner_[lid];
    if (known == 0) known = owner;
    if (known == owner) continue;
    const auto other = static_cast<std::uint32_t>((known - 1) >> 8U);
    const auto other_port = static_cast<std::uint32_t>((known - 1) & 255U);
    trouble(
        node, port,
        fmt::format("LID {} is also that of {}; counters were not asked for", lid, words(other, other_port)));
    notes_.add(
        "scan.lid-duplicate",
        fmt::format("LID {} belongs to {} and to {}", lid, words(other, other_port), words(node, port)),
        "Two subnet managers, or one that restarted and does not know the other's LIDs: look at its log");
    return false;
  }
  return true;
}

std::uint16_t FabricWalk::lid_for(std::uint32_t node, std::uint32_t port) const {
  if (is_switch(node)) return nodes_[node].switch_lid;
  const auto index = index_of(node, port);
  if (!index) return 0;
  const std::optional<Lid> lid = fabric_.nodes[node].ports[*index].lid;
  if (!lid) return 0;
  return lid_owner_[lid->value] == (std::uint64_t{node} << 8U | port) + 1 ? lid->value : std::uint16_t{0};
}

void FabricWalk::want_counters(std::uint32_t node, std::uint32_t port) {
  const auto index = index_of(node, port);
  if (!limits_.counters || !index) return;
  if (!is_switch(node) && nodes_[node].marks[*index].reached && lid_for(node, port) == 0) {
    // It was not known to be of this subnet when its LID came.
    const std::optional<Lid> lid = fabric_.nodes[node].ports[*index].lid;
    if (lid) claim_lids(node, port, {lid->value, 0, 0});
  }
  const bool active = is_switch(node) || fabric_.nodes[node].ports[*index].state == model::PortState::kActive;
  if (!routable_ || !active || lid_for(node, port) == 0) {
    notes_.add("scan.counters-unreachable",
               routable_ ? fmt::format("{} {}: its counters cannot be asked for", words(node, port),
                                       active ? "has no LID of its own" : "is not active")
                         : "the port of the scan is not active: no counters can be asked for",
               "Counters are reached by LID, which a subnet manager gives: is one running?");
    return;
  }
  if (std::exchange(nodes_[node].marks[*index].wanted, true)) return;
  Node& state = nodes_[node];
  if (state.agent == Agent::kKnown) return ask_counters(node, port);
  if (state.agent == Agent::kSilent) return;
  state.for_counters.push_back(port);
  if (state.agent == Agent::kAsked) return;
  state.agent = Agent::kAsked;
  ask(Question::kClassPortInfo, node, port);
}

// An agent that has all counters with 64 bits needs one question a port.
void FabricWalk::ask_counters(std::uint32_t node, std::uint32_t port) {
  const CounterAbilities abilities = nodes_[node].abilities;
  if (!abilities.additional) ask_errors(node, port);
  if (abilities.extended) ask(Question::kPortCountersExtended, node, port);
}

// A switch that adds up over its ports is asked for the sums first: without an error all of them are known.
void FabricWalk::ask_errors(std::uint32_t node, std::uint32_t port) {
  constexpr std::size_t kWorthIt = 4;  // ports
  Node& state = nodes_[node];
  const bool sums = is_switch(node) && state.abilities.all_ports && state.abilities.extended &&
                    state.marks.size() > kWorthIt;
  if (!sums || state.sums == Sums::kCounts) return ask(Question::kPortCounters, node, port);
  if (state.sums == Sums::kZero)
    return apply_no_errors(state.abilities, fabric_.nodes[node].ports[port].counters);
  state.for_sums.push_back(port);
  if (state.sums == Sums::kAsked) return;
  state.sums = Sums::kAsked;
  ask(Question::kPortCounters, node, kAllPorts);
}

void FabricWalk::take_sums(std::uint32_t node, bool zero) {
  nodes_[node].sums = zero ? Sums::kZero : Sums::kCounts;
  for (const std::uint32_t port : std::exchange(nodes_[node].for_sums, {}))
    ask_errors(node, port);
}

void FabricWalk::take_abilities(const Ask& ask, const CounterAbilities& abilities) {
  Node& node = nodes_[ask.node];
  node.agent = Agent::kKnown;
  node.abilities = abilities;
  for (const std::uint32_t port : std::exchange(node.for_counters, {}))
    ask_counters(ask.node, port);
}

void FabricWalk::give_up_counters(const Ask& ask, const std::string& words_of_it) {
  Node& node = nodes_[ask.node];
  if (ask.question == Question::kClassPortInfo) {
    node.agent = Agent::kSilent;
    node.for_counters.clear();
    fabric_.nodes[ask.node].trouble = words_of_it + ": its counters are not known";
  } else {
    trouble(ask.node, ask.port, words_of_it);
    if (++node.counters_unanswered >= kCountersSilent) node.agent = Agent::kSilent;
    if (ask.port == kAllPorts) take_sums(ask.node, false);
  }
  notes_.add("scan.counters-unanswered", fmt::format("{}: {}", words(ask.node, ask.port), words_of_it),
             "No route by LID to it, or its performance agent hangs; its links were seen all the same");
}

std::optional<std::uint32_t> FabricWalk::index_of(std::uint32_t node, std::uint32_t port) const {
  if (node >= nodes_.size()) return std::nullopt;
  const std::uint32_t first = is_switch(node) ? 0 : 1;
  if (port < first || port - first >= nodes_[node].marks.size()) return std::nullopt;
  return port - first;
}

bool FabricWalk::is_switch(std::uint32_t node) const {
  return fabric_.nodes[node].kind == FabricNodeKind::kSwitch;
}

std::string FabricWalk::words(std::uint32_t node, std::uint32_t port) const {
  if (node == kNobody) return "the port of the scan";
  const model::FabricNode& known = fabric_.nodes[node];
  const std::string_view name = trim(known.description);
  std::string text = name.empty() ? to_string(known.guid) : printable(name);
  if (port != kNobody) text += fmt::format(" port {}", port);
  return text;
}

void FabricWalk::trouble(std::uint32_t node, std::uint32_t port, std::string text) {
  const auto index = index_of(node, port);
  if (!index) return;
  std::string& known = fabric_.nodes[node].ports[*index].trouble;
  if (known.empty()) known = std::move(text);
}

// Ports of which nothing is known are as if they were not there: stated_ports tells that they are.
void FabricWalk::drop_unknown_ports() {
  std::vector<std::vector<std::uint32_t>> moved(nodes_.size());
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    std::vector<FabricPort>& ports = fabric_.nodes[node].ports;
    moved[node].resize(ports.size());
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < ports.size(); ++i) {
      moved[node][i] = kept;
      const FabricPort& port = ports[i];
      if (!nodes_[node].marks[i].known && !port.peer && port.trouble.empty() && port.guid == 0) continue;
      if (kept != i) ports[kept] = std::move(ports[i]);
      ++kept;
    }
    ports.resize(kept);
  }
  for (model::FabricNode& node : fabric_.nodes) {
    for (FabricPort& port : node.ports) {
      if (port.peer) port.peer->port = moved[port.peer->node][port.peer->port];
    }
  }
  if (start_) start_->port = moved[start_->node][start_->port];
}

model::Fabric FabricWalk::take() {
  drop_unknown_ports();
  if (start_) fabric_.seen_from.push_back(printable(model::describe(fabric_, *start_)));
  fabric_.kind = model::FabricKind::kInfiniBand;
  fabric_.notes = notes_.take();
  return std::move(fabric_);
}

}  // namespace angio::probe::umad
