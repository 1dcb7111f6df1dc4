// FabricWalk: what is asked of a node that was met, and the cables between ports.
#include <fmt/format.h>

#include "probe/umad/walk.hpp"

namespace angio::probe::umad {

using model::FabricNodeKind;
using model::FabricPort;
using model::PortRef;

void FabricWalk::ask_node(std::uint32_t node) {
  const auto count = static_cast<std::uint32_t>(nodes_[node].marks.size());
  ask(Question::kNodeDescription, node, 0);
  if (is_switch(node)) {
    ask(Question::kSwitchInfo, node, 0);
    ask(Question::kPortInfo, node, 0);  // says which speeds the others may name
    return;
  }
  const std::uint32_t arrival = nodes_[node].arrival;
  if (arrival >= 1 && arrival <= count) ask(Question::kPortInfo, node, arrival);
  if (fabric_.nodes[node].kind == FabricNodeKind::kUnknown) return;
  for (std::uint32_t port = 1; port <= count; ++port) {
    if (port != arrival) ask(Question::kPortInfo, node, port);
  }
}

void FabricWalk::ask_other_ports(std::uint32_t node) {
  if (!is_switch(node) || std::exchange(nodes_[node].asked_ports, true)) return;
  for (std::uint32_t port = 1; port < nodes_[node].marks.size(); ++port)
    ask(Question::kPortInfo, node, port);
}

void FabricWalk::start_at(std::uint32_t node, const NodeInfo& info) {
  const auto index = index_of(node, info.local_port);
  if (!index) return;
  start_ = PortRef{node, *index};
  reach(node, info.local_port, info.port_guid);
}

void FabricWalk::link(const Ask& ask, std::uint32_t node, const NodeInfo& info) {
  const auto here = index_of(ask.node, ask.port);
  const auto there = index_of(node, info.local_port);
  if (!here) return;
  if (!there || (is_switch(node) && info.local_port == 0)) {
    trouble(ask.node, ask.port,
            fmt::format("{} behind it says that it was met at its port {}", words(node, kNobody),
                        info.local_port));
    notes_.add("scan.port-number", fmt::format("{} says that it was met at its port {} of {}",
                                               words(node, kNobody), info.local_port, info.ports));
    return;
  }
  const PortRef from{ask.node, *here};
  const PortRef to{node, *there};
  if (from == to) {
    trouble(ask.node, ask.port, "leads back to itself");
    notes_.add("scan.loop-plug", fmt::format("{} leads back to itself: a loopback plug or a mirrored answer",
                                             words(ask.node, ask.port)));
    return;
  }
  if (model::connect(fabric_, from, to)) return reach(node, info.local_port, info.port_guid);
  trouble(ask.node, ask.port,
          fmt::format("leads to {}, which has another peer", words(node, info.local_port)));
  notes_.add("scan.two-peers",
             fmt::format("{} was met behind {} and behind another port", words(node, info.local_port),
                         words(ask.node, ask.port)),
             "Two devices with one node GUID, or a cable that was moved during the scan: scan again");
}

// A way leads to this port of an adapter, so its LID is one of this subnet; an adapter's other ports may
// belong to another one.
void FabricWalk::reach(std::uint32_t node, std::uint32_t port, std::uint64_t port_guid) {
  const auto index = index_of(node, is_switch(node) ? 0 : port);
  if (!index) return;
  fabric_.nodes[node].ports[*index].guid = port_guid;
  if (port_guid != 0) {
    const auto [known, is_new] = by_port_guid_.emplace(port_guid, node);
    if (!is_new && known->second != node) {
      notes_.add("scan.port-guid-duplicate",
                 fmt::format("port GUID {} belongs to {} and to {}", to_string(model::NodeGuid{port_guid}),
                             words(known->second, kNobody), words(node, kNobody)),
                 "Port GUIDs must be unique: the subnet manager will take one port for the other");
    }
  }
  PortMark& mark = nodes_[node].marks[*index];
  if (std::exchange(mark.reached, true) || is_switch(node)) return;
  if (mark.known) want_counters(node, port);
}

// Through this port, if something may be behind it that is not known yet.
void FabricWalk::explore(std::uint32_t node, std::uint32_t port) {
  const auto index = index_of(node, port);
  if (!index || port == 0) return;
  const FabricPort& own = fabric_.nodes[node].ports[*index];
  if (own.physical_state != model::PortPhysicalState::kLinkUp || own.peer) return;
  // Only switches pass directed routes on; of adapters just the one in which the scan stands sends them.
  if (!is_switch(node) && start_ != PortRef{node, *index}) return;
  if (nodes_[node].route.hops >= kMostHops) {
    trouble(node, port, "a directed route has 63 hops at most");
    notes_.add("scan.hops", fmt::format("{}: what lies behind is more than 63 hops away and was left out",
                                        words(node, port)));
    return;
  }
  ask(Question::kNodeInfo, node, port);
}

}  // namespace angio::probe::umad
