#include "import/fabric/angio_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "import/fabric/json_texts.hpp"
#include "model/fabric_words.hpp"

namespace angio::import::fabric {
namespace {

constexpr std::string_view kRemedy = "scan again, or take the file as angio wrote it";

std::optional<std::uint64_t> number_of(const Json& json) {
  if (const std::int64_t* integer = json.as_integer())
    return *integer >= 0 ? std::optional(static_cast<std::uint64_t>(*integer)) : std::nullopt;
  return json.as_string() != nullptr ? parse_integer<std::uint64_t>(*json.as_string()) : std::nullopt;
}

std::uint32_t small_of(const Json* json) {
  const auto number = json != nullptr ? number_of(*json) : std::nullopt;
  return number && *number <= ~std::uint32_t{0} ? static_cast<std::uint32_t>(*number) : 0;
}

std::string text_of(const Json* json) {
  return json != nullptr && json->as_string() != nullptr ? *json->as_string() : std::string();
}

std::uint64_t guid_of(const Json* json) {
  return json != nullptr && json->as_string() != nullptr
             ? parse_integer<std::uint64_t>(*json->as_string(), 16).value_or(0)
             : 0;
}

std::optional<Lid> lid_of(const Json& json) {
  const auto number = number_of(json);
  return number && *number <= 0xFFFF ? std::optional(Lid{static_cast<std::uint16_t>(*number)}) : std::nullopt;
}

std::uint8_t lanes_of(const Json& json) {
  const auto number = number_of(json);
  return number && *number <= 0xFF ? static_cast<std::uint8_t>(*number) : std::uint8_t{0};
}

model::LaneSpeedName speed_of(const Json& json) {
  return json.as_string() != nullptr ? model::find_lane_speed(*json.as_string())
                                     : model::LaneSpeedName::kUnknown;
}

std::optional<BitsPerSecond> rate_of(const Json& json) {
  if (const double* value = json.as_double()) return BitsPerSecond{*value};
  if (const std::int64_t* value = json.as_integer()) return BitsPerSecond{static_cast<double>(*value)};
  return std::nullopt;
}

struct Peer {
  std::optional<std::uint64_t> node;
  std::optional<std::uint64_t> number;
  std::vector<std::string_view> stuck;
};

using SetCell = void (*)(const Json& cell, model::FabricPort& port, Peer& peer);
struct Column {
  std::string_view name;
  SetCell set;
};
constexpr std::array kColumns = {
    Column{"number", [](const Json& cell, model::FabricPort& port, Peer&) { port.number = small_of(&cell); }},
    Column{"name", [](const Json& cell, model::FabricPort& port, Peer&) { port.name = text_of(&cell); }},
    Column{"peer_node",
           [](const Json& cell, model::FabricPort&, Peer& peer) { peer.node = number_of(cell); }},
    Column{"peer_port",
           [](const Json& cell, model::FabricPort&, Peer& peer) { peer.number = number_of(cell); }},
    Column{"state",
           [](const Json& cell, model::FabricPort& port, Peer&) {
             port.state = model::find_port_state(text_of(&cell)).value_or(model::PortState::kUnknown);
           }},
    Column{"physical_state",
           [](const Json& cell, model::FabricPort& port, Peer&) {
             port.physical_state =
                 model::find_physical_state(text_of(&cell)).value_or(model::PortPhysicalState::kUnknown);
           }},
    Column{"lanes", [](const Json& cell, model::FabricPort& port, Peer&) { port.lanes = lanes_of(cell); }},
    Column{"speed", [](const Json& cell, model::FabricPort& port, Peer&) { port.speed = speed_of(cell); }},
    Column{"most_lanes",
           [](const Json& cell, model::FabricPort& port, Peer&) { port.most_lanes = lanes_of(cell); }},
    Column{"most_speed",
           [](const Json& cell, model::FabricPort& port, Peer&) { port.most_speed = speed_of(cell); }},
    Column{"enabled_lanes",
           [](const Json& cell, model::FabricPort& port, Peer&) { port.enabled_lanes = lanes_of(cell); }},
    Column{"enabled_speed",
           [](const Json& cell, model::FabricPort& port, Peer&) { port.enabled_speed = speed_of(cell); }},
    Column{"rate_bits_per_second",
           [](const Json& cell, model::FabricPort& port, Peer&) { port.stated_rate = rate_of(cell); }},
    Column{"guid", [](const Json& cell, model::FabricPort& port, Peer&) { port.guid = guid_of(&cell); }},
    Column{"lid", [](const Json& cell, model::FabricPort& port, Peer&) { port.lid = lid_of(cell); }},
    Column{"sm_lid", [](const Json& cell, model::FabricPort& port, Peer&) { port.sm_lid = lid_of(cell); }},
    Column{"mtu_bytes", [](const Json& cell, model::FabricPort& port, Peer&) { port.mtu = small_of(&cell); }},
    Column{"trouble",
           [](const Json& cell, model::FabricPort& port, Peer&) { port.trouble = text_of(&cell); }},
    Column{"stuck",
           [](const Json& cell, model::FabricPort&, Peer& peer) {
             if (cell.as_array() == nullptr) return;
             for (const Json& word : *cell.as_array()) {
               if (word.as_string() != nullptr) peer.stuck.push_back(*word.as_string());
             }
           }},
};

struct Cell {
  SetCell set = nullptr;  // or else a counter
  std::optional<model::FabricCounter> counter;
};

class Reader {
 public:
  explicit Reader(const std::string& name) { fabric_.name = name; }

  void take(const Json& json) {
    take_heading(json);
    take_columns(json.find("port_columns"));
    const Json* const nodes = json.find("nodes");
    if (nodes == nullptr || nodes->as_array() == nullptr) return;
    fabric_.nodes.reserve(nodes->as_array()->size());
    for (const Json& node : *nodes->as_array())
      take_node(node);
    join();
  }
  void note(std::string_view id, std::string_view text) {
    for (model::Note& known : fabric_.notes) {
      if (known.id == id) {
        ++known.count;
        return;
      }
    }
    fabric_.notes.push_back({std::string(id), std::string(text), 1, std::string(kRemedy)});
  }
  [[nodiscard]] model::Fabric finish() && { return std::move(fabric_); }

 private:
  struct Link {
    model::PortRef from;
    std::uint64_t node;
    std::uint64_t number;
  };

  void take_heading(const Json& json) {
    if (const Json* subject = json.find("subject"); subject != nullptr) fabric_.name = text_of(subject);
    fabric_.origin = text_of(json.find("origin"));
    fabric_.kind =
        model::find_fabric_kind(text_of(json.find("kind"))).value_or(model::FabricKind::kInfiniBand);
    if (const Json* captured = json.find("captured"); captured != nullptr && captured->as_string() != nullptr)
      fabric_.captured = *captured->as_string();
    const Json* const places = json.find("seen_from");
    if (places != nullptr && places->as_array() != nullptr) {
      for (const Json& place : *places->as_array())
        fabric_.seen_from.push_back(text_of(&place));
    }
    const Json* const notes = json.find("notes");
    if (notes == nullptr || notes->as_array() == nullptr) return;
    for (const Json& note : *notes->as_array()) {
      fabric_.notes.push_back({text_of(note.find("id")), text_of(note.find("text")),
                               small_of(note.find("count")), text_of(note.find("remedy"))});
    }
  }

  void take_columns(const Json* columns) {
    if (columns == nullptr || columns->as_array() == nullptr) return;
    for (const Json& column : *columns->as_array()) {
      const std::string name = text_of(&column);
      Cell cell;
      for (const Column& known : kColumns) {
        if (known.name == name) cell.set = known.set;
      }
      if (cell.set == nullptr) cell.counter = model::find_counter_word(name);
      if (cell.set == nullptr && !cell.counter)
        note("fabric.unknown-column", fmt::format("column {} is not known to this angio", printable(name)));
      cells_.push_back(cell);
    }
  }

  void take_node(const Json& json) {
    const auto index = static_cast<std::uint32_t>(fabric_.nodes.size());
    model::FabricNode& node = fabric_.nodes.emplace_back();
    node.guid = {guid_of(json.find("guid"))};
    node.kind =
        model::find_fabric_node_kind(text_of(json.find("kind"))).value_or(model::FabricNodeKind::kUnknown);
    node.description = text_of(json.find("description"));
    node.system_guid = guid_of(json.find("system_guid"));
    node.vendor = small_of(json.find("vendor"));
    node.device = small_of(json.find("device"));
    node.revision = small_of(json.find("revision"));
    node.stated_ports = small_of(json.find("stated_ports"));
    node.trouble = text_of(json.find("trouble"));
    const Json* const ports = json.find("ports");
    if (ports == nullptr || ports->as_array() == nullptr) return;
    node.ports.reserve(ports->as_array()->size());
    for (const Json& row : *ports->as_array())
      take_port(row, index, node);
  }

  void take_port(const Json& row, std::uint32_t index, model::FabricNode& node) {
    if (row.as_array() == nullptr) return note("fabric.odd-row", "a port that is no row of cells");
    model::FabricPort port;
    Peer peer;
    const std::size_t count = std::min(row.as_array()->size(), cells_.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Json& json = (*row.as_array())[i];
      if (json.is_null()) continue;
      if (cells_[i].set != nullptr) {
        cells_[i].set(json, port, peer);
      } else if (cells_[i].counter) {
        if (const auto value = number_of(json)) port.counters.set(*cells_[i].counter, *value);
      }
    }
    if (!node.ports.empty() && node.ports.back().number >= port.number)
      return note("fabric.odd-row", fmt::format("port {} is out of order", port.number));
    for (const std::string_view word : peer.stuck) {
      const auto counter = model::find_counter_word(word);
      const auto value = counter ? port.counters.get(*counter) : std::nullopt;
      if (value) port.counters.set(*counter, *value, true);
    }
    const auto here = static_cast<std::uint32_t>(node.ports.size());
    if (peer.node && peer.number) links_.push_back({{index, here}, *peer.node, *peer.number});
    node.ports.push_back(std::move(port));
  }

  void join() {
    for (const Link& link : links_) {
      const bool known = link.node < fabric_.nodes.size() && link.number <= ~std::uint32_t{0};
      const model::FabricNode* const node = known ? &fabric_.nodes[link.node] : nullptr;
      const model::FabricPort* const port =
          node != nullptr ? find_port(*node, static_cast<std::uint32_t>(link.number)) : nullptr;
      if (port == nullptr) {
        note("fabric.lost-cable",
             fmt::format("{} leads to a port that is not there", printable(describe(fabric_, link.from))));
        continue;
      }
      const model::PortRef there{static_cast<std::uint32_t>(link.node),
                                 static_cast<std::uint32_t>(port - node->ports.data())};
      if (!connect(fabric_, link.from, there))
        note("fabric.ends-contradict",
             fmt::format("{} and its peer contradict each other", printable(describe(fabric_, link.from))));
    }
  }

  model::Fabric fabric_;
  std::vector<Cell> cells_;
  std::vector<Link> links_;
};

}  // namespace

Result<model::Fabric> import_angio_fabric(std::string_view text, const std::string& name) {
  const std::string file = printable(name);
  Reader reader(file);
  bool found = false;
  std::string problem = "no JSON in it";
  for (const JsonText& json : find_json(text)) {
    if (!json.problem.empty()) problem = json.problem;
    const Json* const schema = json.value.find("schema");
    if (found || schema == nullptr || schema->as_string() == nullptr) continue;
    if (*schema->as_string() != model::kFabricSchema) {
      problem = fmt::format("schema {} instead of {}", printable(*schema->as_string()), model::kFabricSchema);
      continue;
    }
    found = true;
    reader.take(json.value);
    if (json.is_cut)
      reader.note("fabric.cut-json", file + ": the file ends in the middle: what is complete was read");
  }
  if (!found)
    return fail(ErrorCode::kInvalidInput, fmt::format("{}: {}", file, problem), std::string(kRemedy));
  return std::move(reader).finish();
}

}  // namespace angio::import::fabric
