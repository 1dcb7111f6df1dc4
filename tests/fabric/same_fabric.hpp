// When two fabrics are the same: exactly, as Angio's own JSON must keep it, and in topology, as
// ibnetdiscover's text must. Answers are the first difference in words, "" when there is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "model/fabric.hpp"

namespace angio::test {

inline std::string port_difference(const model::FabricPort& a, const model::FabricPort& b) {
  if (a.number != b.number) return "number";
  if (a.name != b.name) return "name";
  if (a.state != b.state || a.physical_state != b.physical_state) return "state";
  if (a.lanes != b.lanes || a.speed != b.speed) return "rate";
  if (a.most_lanes != b.most_lanes || a.most_speed != b.most_speed) return "most";
  if (a.enabled_lanes != b.enabled_lanes || a.enabled_speed != b.enabled_speed) return "enabled";
  if (a.stated_rate != b.stated_rate) return "stated rate";
  if (a.guid != b.guid || a.lid != b.lid || a.sm_lid != b.sm_lid || a.mtu != b.mtu) return "address";
  if (a.peer != b.peer) return "peer";
  if (a.trouble != b.trouble) return "trouble";
  for (std::size_t i = 0; i < model::kFabricCounters; ++i) {
    const auto counter = static_cast<model::FabricCounter>(i);
    const bool same = a.counters.get(counter) == b.counters.get(counter) &&
                      a.counters.is_stuck(counter) == b.counters.is_stuck(counter);
    if (!same) return std::string(model::name_of(counter));
  }
  return {};
}

inline std::string node_difference(const model::FabricNode& a, const model::FabricNode& b) {
  if (a.kind != b.kind || a.guid != b.guid || a.system_guid != b.system_guid) return "kind or GUID";
  if (a.description != b.description || a.trouble != b.trouble) return "words";
  if (a.vendor != b.vendor || a.device != b.device || a.revision != b.revision) return "device";
  if (a.stated_ports != b.stated_ports || a.ports.size() != b.ports.size()) return "count of ports";
  for (std::size_t i = 0; i < a.ports.size(); ++i) {
    if (const std::string what = port_difference(a.ports[i], b.ports[i]); !what.empty())
      return "port " + std::to_string(a.ports[i].number) + ": " + what;
  }
  return {};
}

inline std::string difference(const model::Fabric& a, const model::Fabric& b) {
  if (a.name != b.name || a.origin != b.origin || a.kind != b.kind) return "name, origin or kind";
  if (a.captured != b.captured || a.seen_from != b.seen_from) return "when or where";
  if (a.nodes.size() != b.nodes.size() || a.notes.size() != b.notes.size()) return "count of nodes or notes";
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    if (const std::string what = node_difference(a.nodes[i], b.nodes[i]); !what.empty())
      return "node " + std::to_string(i) + ": " + what;
  }
  for (std::size_t i = 0; i < a.notes.size(); ++i) {
    const bool same = a.notes[i].id == b.notes[i].id && a.notes[i].text == b.notes[i].text &&
                      a.notes[i].count == b.notes[i].count && a.notes[i].remedy == b.notes[i].remedy;
    if (!same) return "note " + a.notes[i].id;
  }
  return {};
}

// Cables by GUIDs and port numbers.
inline std::set<std::string> cables_of(const model::Fabric& fabric) {
  std::set<std::string> cables;
  for (const model::FabricNode& node : fabric.nodes) {
    for (const model::FabricPort& port : node.ports) {
      if (!port.peer) continue;
      const model::FabricNode& other = fabric.nodes[port.peer->node];
      cables.insert(to_string(node.guid) + "/" + std::to_string(port.number) + " " + to_string(other.guid) +
                    "/" + std::to_string(other.ports[port.peer->port].number) + " " +
                    std::to_string(port.lanes) + "x" + std::string(model::name_of(port.speed)));
    }
  }
  return cables;
}

inline std::set<std::string> nodes_of(const model::Fabric& fabric) {
  std::set<std::string> nodes;
  for (const model::FabricNode& node : fabric.nodes)
    nodes.insert(to_string(node.guid));
  return nodes;
}

}  // namespace angio::test
