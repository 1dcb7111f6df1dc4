#include "views/fabric_json.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "model/fabric_words.hpp"
#include "views/metrics_json.hpp"

namespace angio::views {
namespace {

using model::FabricCounter;
using model::FabricPort;

// JSON numbers are exact to 2^63 here; above that the digits stand in a string.
Json exact(std::uint64_t value) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return value <= kMost ? Json(value) : Json(std::to_string(value));
}

Json guid_json(std::uint64_t guid) {
  return guid != 0 ? Json(to_string(model::NodeGuid{guid})) : Json();
}

Json lanes_json(std::uint8_t lanes) {
  return lanes != 0 ? Json(std::uint32_t{lanes}) : Json();
}

Json speed_json(model::LaneSpeedName speed) {
  return speed != model::LaneSpeedName::kUnknown ? Json(name_of(speed)) : Json();
}

Json text_json(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json lid_json(const std::optional<Lid>& lid) {
  return lid ? Json(std::uint32_t{lid->value}) : Json();
}

Json peer_json(const model::Fabric& fabric, const FabricPort& port) {
  if (!port.peer || port.peer->node >= fabric.nodes.size()) return {};
  const std::vector<FabricPort>& ports = fabric.nodes[port.peer->node].ports;
  return port.peer->port < ports.size() ? Json(ports[port.peer->port].number) : Json();
}

Json stuck_json(const model::CounterSet& counters) {
  Json words;
  for (std::size_t i = 0; i < model::kFabricCounters; ++i) {
    const auto counter = static_cast<FabricCounter>(i);
    if (counters.is_stuck(counter)) words.push_back(model::word_of(counter));
  }
  return words;
}

struct Column {
  std::string_view name;
  Json (*cell)(const model::Fabric&, const FabricPort&);
};

constexpr std::array kColumns = {
    Column{"number", [](const model::Fabric&, const FabricPort& port) { return Json(port.number); }},
    Column{"name", [](const model::Fabric&, const FabricPort& port) { return text_json(port.name); }},
    Column{"peer_node", [](const model::Fabric&,
                           const FabricPort& port) { return port.peer ? Json(port.peer->node) : Json(); }},
    Column{"peer_port",
           [](const model::Fabric& fabric, const FabricPort& port) { return peer_json(fabric, port); }},
    Column{"state",
           [](const model::Fabric&, const FabricPort& port) {
             return port.state != model::PortState::kUnknown ? Json(name_of(port.state)) : Json();
           }},
    Column{"physical_state",
           [](const model::Fabric&, const FabricPort& port) {
             return port.physical_state != model::PortPhysicalState::kUnknown
                        ? Json(name_of(port.physical_state))
                        : Json();
           }},
    Column{"lanes", [](const model::Fabric&, const FabricPort& port) { return lanes_json(port.lanes); }},
    Column{"speed", [](const model::Fabric&, const FabricPort& port) { return speed_json(port.speed); }},
    Column{"most_lanes",
           [](const model::Fabric&, const FabricPort& port) { return lanes_json(port.most_lanes); }},
    Column{"most_speed",
           [](const model::Fabric&, const FabricPort& port) { return speed_json(port.most_speed); }},
    Column{"enabled_lanes",
           [](const model::Fabric&, const FabricPort& port) { return lanes_json(port.enabled_lanes); }},
    Column{"enabled_speed",
           [](const model::Fabric&, const FabricPort& port) { return speed_json(port.enabled_speed); }},
    Column{"rate_bits_per_second",
           [](const model::Fabric&, const FabricPort& port) {
             return port.stated_rate ? Json(port.stated_rate->value) : Json();
           }},
    Column{"guid", [](const model::Fabric&, const FabricPort& port) { return guid_json(port.guid); }},
    Column{"lid", [](const model::Fabric&, const FabricPort& port) { return lid_json(port.lid); }},
    Column{"sm_lid", [](const model::Fabric&, const FabricPort& port) { return lid_json(port.sm_lid); }},
    Column{"mtu_bytes",
           [](const model::Fabric&, const FabricPort& port) { return port.mtu ? Json(*port.mtu) : Json(); }},
    Column{"trouble", [](const model::Fabric&, const FabricPort& port) { return text_json(port.trouble); }},
    Column{"stuck", [](const model::Fabric&, const FabricPort& port) { return stuck_json(port.counters); }},
};

Json counter_json(const FabricPort& port, FabricCounter counter) {
  const auto value = port.counters.get(counter);
  return value ? exact(*value) : Json();
}

// Which columns any port has something in.
struct Used {
  std::array<bool, kColumns.size()> columns{};
  std::array<bool, model::kFabricCounters> counters{};
};

Used used_columns(const model::Fabric& fabric) {
  Used used;
  used.columns.front() = true;
  for (const model::FabricNode& node : fabric.nodes) {
    for (const FabricPort& port : node.ports) {
      for (std::size_t i = 0; i < kColumns.size(); ++i)
        used.columns.at(i) = used.columns.at(i) || !kColumns.at(i).cell(fabric, port).is_null();
      for (std::size_t i = 0; i < model::kFabricCounters; ++i)
        used.counters.at(i) =
            used.counters.at(i) || port.counters.get(static_cast<FabricCounter>(i)).has_value();
    }
  }
  return used;
}

Json column_names(const Used& used) {
  Json names = Json::array();
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    if (used.columns.at(i)) names.push_back(kColumns.at(i).name);
  }
  for (std::size_t i = 0; i < model::kFabricCounters; ++i) {
    if (used.counters.at(i)) names.push_back(model::word_of(static_cast<FabricCounter>(i)));
  }
  return names;
}

Json port_row(const model::Fabric& fabric, const FabricPort& port, const Used& used) {
  Json row = Json::array();
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    if (used.columns.at(i)) row.push_back(kColumns.at(i).cell(fabric, port));
  }
  for (std::size_t i = 0; i < model::kFabricCounters; ++i) {
    if (used.counters.at(i)) row.push_back(counter_json(port, static_cast<FabricCounter>(i)));
  }
  return row;
}

Json node_json(const model::Fabric& fabric, const model::FabricNode& node, const Used& used) {
  Json json = Json::object({{"guid", to_string(node.guid)},
                            {"kind", model::word_of(node.kind)},
                            {"description", node.description}});
  if (node.system_guid != 0) json.set("system_guid", guid_json(node.system_guid));
  if (node.vendor != 0) json.set("vendor", node.vendor);
  if (node.device != 0) json.set("device", node.device);
  if (node.revision != 0) json.set("revision", node.revision);
  if (node.stated_ports != 0) json.set("stated_ports", node.stated_ports);
  if (!node.trouble.empty()) json.set("trouble", node.trouble);
  Json ports = Json::array();
  for (const FabricPort& port : node.ports)
    ports.push_back(port_row(fabric, port, used));
  json.set("ports", std::move(ports));
  return json;
}

Json notes_json(const std::vector<model::Note>& notes) {
  Json list = Json::array();
  for (const model::Note& note : notes) {
    list.push_back(
        Json::object({{"id", note.id}, {"text", note.text}, {"count", note.count}, {"remedy", note.remedy}}));
  }
  return list;
}

}  // namespace

Json fabric_json(const model::Fabric& fabric, const std::vector<model::Metric>& metrics) {
  const Used used = used_columns(fabric);
  Json json = Json::object({{"schema", model::kFabricSchema},
                            {"captured", fabric.captured ? Json(*fabric.captured) : Json()},
                            {"subject", fabric.name},
                            {"origin", fabric.origin},
                            {"kind", model::word_of(fabric.kind)}});
  Json seen_from = Json::array();
  for (const std::string& place : fabric.seen_from)
    seen_from.push_back(place);
  json.set("seen_from", std::move(seen_from));
  json.set("notes", notes_json(fabric.notes));
  json.set("port_columns", column_names(used));
  Json nodes = Json::array();
  for (const model::FabricNode& node : fabric.nodes)
    nodes.push_back(node_json(fabric, node, used));
  json.set("nodes", std::move(nodes));
  json.set("metrics", metrics_json(metrics));
  return json;
}

}  // namespace angio::views
