#include "probe/umad/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace angio::probe::umad {
namespace {

using model::FabricNodeKind;
using model::FabricPort;
using model::PortRef;

constexpr std::uint32_t kMostPortNumber = 254;  // 255 means "all ports" to the performance agent
constexpr std::uint8_t kSilenceEnds = 3;        // so many questions without an answer: the node is gone

constexpr std::string_view kSilenceRemedy =
    "Look at the node: hung firmware, powered off in the middle, or a management key (M_Key) that it wants";

std::uint32_t ports_of(const NodeInfo& info) {
  const std::uint32_t stated = std::min<std::uint32_t>(info.ports, kMostPortNumber);
  const bool sensible = info.local_port <= kMostPortNumber;
  return std::max<std::uint32_t>(stated, sensible ? info.local_port : 0);
}

bool same_device(const model::FabricNode& node, const NodeInfo& info) {
  return node.kind == info.kind && node.stated_ports == info.ports && node.system_guid == info.system_guid &&
         node.vendor == info.vendor && node.device == info.device;
}

}  // namespace

FabricWalk::FabricWalk(const WalkLimits& limits) : limits_(limits), lid_owner_(kFirstMulticast, 0) {
  queue_.push_back({Question::kNodeInfo, kNobody, 0});
}

std::optional<Ask> FabricWalk::next() {
  while (!queue_.empty() || !counters_.empty()) {
    std::deque<Ask>& queue = queue_.empty() ? counters_ : queue_;
    const Ask ask = queue.front();
    queue.pop_front();
    if (is_dropped(ask)) continue;
    // A way through a node costs that node nothing; what it has to answer itself does.
    if (ask.question != Question::kNodeInfo) {
      Node& node = nodes_[ask.node];
      if (node.busy >= limits_.busy_node) {
        node.waiting.push_back(ask);
        continue;
      }
      ++node.busy;
    }
    ++outstanding_;
    return ask;
  }
  return std::nullopt;
}

bool FabricWalk::is_dropped(const Ask& ask) const {
  if (ask.node == kNobody) return false;
  if (class_of(ask.question) == MadClass::kPerformance) return nodes_[ask.node].agent == Agent::kSilent;
  if (ask.question != Question::kNodeInfo) return nodes_[ask.node].silent;
  // Somebody else may have come through this cable meanwhile.
  const auto index = index_of(ask.node, ask.port);
  return index && fabric_.nodes[ask.node].ports[*index].peer.has_value();
}

void FabricWalk::finish(const Ask& ask) {
  --outstanding_;
  if (ask.node == kNobody || ask.question == Question::kNodeInfo) return;
  Node& node = nodes_[ask.node];
  --node.busy;
  if (node.waiting.empty()) return;
  const Ask next = node.waiting.back();
  node.waiting.pop_back();
  (class_of(next.question) == MadClass::kPerformance ? counters_ : queue_).push_front(next);
}

void FabricWalk::ask(Question question, std::uint32_t node, std::uint32_t port) {
  (class_of(question) == MadClass::kPerformance ? counters_ : queue_).push_back({question, node, port});
}

MadBytes FabricWalk::request(const Ask& ask, std::uint32_t transaction) const {
  Request request{ask.question, transaction, static_cast<std::uint8_t>(ask.port), nullptr};
  if (class_of(ask.question) == MadClass::kPerformance) return make_request(request);
  Route route;
  if (ask.node != kNobody) route = nodes_[ask.node].route;
  if (ask.question == Question::kNodeInfo && ask.node != kNobody) {
    ++route.hops;  // explore() leaves room for it
    route.ports.at(route.hops) = static_cast<std::uint8_t>(ask.port);
  }
  request.route = &route;
  return make_request(request);
}

std::uint16_t FabricWalk::lid_of(const Ask& ask) const {
  return class_of(ask.question) == MadClass::kPerformance ? lid_for(ask.node, ask.port) : kPermissive;
}

void FabricWalk::answer(const Ask& ask, Payload payload) {
  finish(ask);
  if (ask.node == kNobody || ask.question == Question::kNodeInfo)
    return take_node_info(ask, parse_node_info(payload));
  Node& node = nodes_[ask.node];
  const bool counters = class_of(ask.question) == MadClass::kPerformance;
  (counters ? node.counters_unanswered : node.unanswered) = 0;
  const auto index = index_of(ask.node, ask.port);
  FabricPort* port = index ? &fabric_.nodes[ask.node].ports[*index] : nullptr;
  switch (ask.question) {
    case Question::kNodeDescription:
      fabric_.nodes[ask.node].description = parse_description(payload);
      break;
    case Question::kSwitchInfo:
      fabric_.nodes[ask.node].enhanced_port0 = has_enhanced_port0(payload);
      if (fabric_.nodes[ask.node].enhanced_port0 && !node.marks.empty() && node.marks[0].known)
        want_counters(ask.node, 0);
      break;
    case Question::kPortInfo:
      take_port_info(ask, payload);
      break;
    case Question::kVendorPortInfo:
      if (port != nullptr) apply_vendor_port_info(payload, *port);
      break;
    case Question::kClassPortInfo:
      take_abilities(ask, parse_abilities(payload));
      break;
    case Question::kPortCounters:
      if (ask.port == kAllPorts) return take_sums(ask.node, counts_no_errors(payload, node.abilities));
      if (port != nullptr) apply_counters(payload, node.abilities, port->counters);
      break;
    case Question::kPortCountersExtended:
      if (port != nullptr) apply_extended_counters(payload, node.abilities, port->counters);
      break;
    case Question::kNodeInfo:
      break;
  }
}

void FabricWalk::refuse(const Ask& ask, std::uint16_t status) {
  finish(ask);
  const std::string text = fmt::format("{} refused: {}", name_of(ask.question), status_words(status));
  switch (ask.question) {
    case Question::kVendorPortInfo:  // it has no such attribute: then the link is what PortInfo says
      return;
    case Question::kClassPortInfo:
      return take_abilities(ask, {});
    case Question::kPortInfo:
      if (ask.port == 0) ask_other_ports(ask.node);
      // An adapter need not tell about the ports at which nobody asked.
      if (is_switch(ask.node) || ask.port == nodes_[ask.node].arrival) trouble(ask.node, ask.port, text);
      return;
    case Question::kNodeInfo:
      if (ask.node != kNobody) trouble(ask.node, ask.port, "the node behind it answers: " + text);
      return;
    case Question::kPortCounters:
    case Question::kPortCountersExtended:
      if (ask.port == kAllPorts) return take_sums(ask.node, false);
      return trouble(ask.node, ask.port, text);
    case Question::kNodeDescription:
    case Question::kSwitchInfo:
      fabric_.nodes[ask.node].trouble = text;
      return;
  }
}

void FabricWalk::give_up(const Ask& ask, std::uint32_t tries) {
  finish(ask);
  const std::string text = fmt::format("no answer to {} in {} tries", name_of(ask.question), tries);
  if (ask.node == kNobody) return;
  if (class_of(ask.question) == MadClass::kPerformance) return give_up_counters(ask, text);
  if (ask.question == Question::kNodeInfo) {
    trouble(ask.node, ask.port, fmt::format("the node behind it gives {}", text));
    notes_.add(
        "scan.no-answer",
        fmt::format("{}: the link is up and the node behind it gives no answer", words(ask.node, ask.port)),
        kSilenceRemedy);
    return;
  }
  Node& node = nodes_[ask.node];
  model::FabricNode& known = fabric_.nodes[ask.node];
  if (ask.question == Question::kPortInfo) {
    trouble(ask.node, ask.port, text);
    if (ask.port == 0) ask_other_ports(ask.node);
  } else if (known.trouble.empty() && ask.question != Question::kVendorPortInfo) {
    known.trouble = text;
  }
  if (++node.unanswered < kSilenceEnds || node.silent) return;
  node.silent = true;
  known.trouble = fmt::format("stopped answering: {}", text);
  notes_.add(
      "scan.silent-node",
      fmt::format("{} stopped answering; some of its ports are missing here", words(ask.node, kNobody)),
      kSilenceRemedy);
}

void FabricWalk::take_node_info(const Ask& ask, const NodeInfo& info) {
  const std::uint32_t node = meet(ask, info);
  if (node == kNobody) return;
  if (ask.node == kNobody) return start_at(node, info);
  link(ask, node, info);
}

// The node that answered, known or new; kNobody when it cannot be used.
std::uint32_t FabricWalk::meet(const Ask& ask, const NodeInfo& info) {
  if (info.guid == 0) {
    trouble(ask.node, ask.port, "the node behind it has node GUID 0");
    notes_.add(
        "scan.guid-zero",
        fmt::format("{}: the node behind it has node GUID 0 and was left out", words(ask.node, ask.port)),
        "The GUID of that device was never programmed or its firmware is damaged");
    return kNobody;
  }
  const auto known = by_guid_.find(info.guid);
  if (known == by_guid_.end()) return add_node(ask, info);
  if (same_device(fabric_.nodes[known->second], info)) return known->second;
  trouble(ask.node, ask.port,
          fmt::format("another device with node GUID {}", to_string(model::NodeGuid{info.guid})));
  notes_.add("scan.guid-duplicate",
             fmt::format("node GUID {} belongs to two devices: {} and the one behind {}",
                         to_string(model::NodeGuid{info.guid}), words(known->second, kNobody),
                         words(ask.node, ask.port)),
             "Node GUIDs must be unique: one of both devices was flashed with the other's image");
  return kNobody;
}

std::uint32_t FabricWalk::add_node(const Ask& ask, const NodeInfo& info) {
  const bool is_switch = info.kind == FabricNodeKind::kSwitch;
  const std::uint32_t count = ports_of(info) + (is_switch ? 1U : 0U);
  if (nodes_.size() >= limits_.most_nodes || ports_ + count > limits_.most_ports) {
    trouble(ask.node, ask.port, "the node behind it was left out: the scan is at its limit");
    notes_.add("scan.limit",
               fmt::format("the scan ended at {} nodes with {} ports; what lies behind was left out",
                           nodes_.size(), ports_),
               "Raise the limit if the fabric is that large; if not, a node answers with invented GUIDs");
    return kNobody;
  }
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  model::FabricNode node;
  node.kind = info.kind;
  node.guid = {info.guid};
  node.system_guid = info.system_guid;
  node.vendor = info.vendor;
  node.device = info.device;
  node.revision = info.revision;
  node.stated_ports = info.ports;
  node.ports.resize(count);
  for (std::uint32_t i = 0; i < count; ++i)
    node.ports[i].number = is_switch ? i : i + 1;
  Node state;
  if (ask.node != kNobody) {
    state.route = nodes_[ask.node].route;
    ++state.route.hops;
    state.route.ports.at(state.route.hops) = static_cast<std::uint8_t>(ask.port);
  }
  state.arrival = info.local_port;
  state.marks.resize(count);
  fabric_.nodes.push_back(std::move(node));
  nodes_.push_back(std::move(state));
  by_guid_.emplace(info.guid, index);
  ports_ += count;
  if (info.kind == FabricNodeKind::kUnknown || info.ports == 0 || info.ports > kMostPortNumber) {
    notes_.add("scan.node-info",
               fmt::format("node {} says that it is of type {} and has {} ports",
                           to_string(model::NodeGuid{info.guid}), info.type, info.ports),
               "A device that answers so has damaged firmware or is no InfiniBand device");
  }
  ask_node(index);
  return index;
}

}  // namespace angio::probe::umad
