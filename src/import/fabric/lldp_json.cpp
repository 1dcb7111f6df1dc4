#include "import/fabric/lldp_json.hpp"

#include "base/text.hpp"
#include "import/fabric/cursor.hpp"
#include "import/fabric/fabric_draft.hpp"

namespace angio::import::fabric {
namespace {

// An element is there once or as an array of its occurrences.
const Json* first(const Json* json) {
  while (json != nullptr && json->as_array() != nullptr) {
    const Json::Array& items = *json->as_array();
    json = items.empty() ? nullptr : &items.front();
  }
  return json;
}

std::string text_of(const Json* json) {
  json = first(json);
  if (json == nullptr) return {};
  if (const std::string* text = json->as_string()) return clean_name(*text);
  return json->as_object() != nullptr ? text_of(json->find("value")) : std::string();
}

template <typename Take>
void for_each_item(const Json& json, const Take& take) {
  if (const Json::Array* items = json.as_array()) {
    for (const Json& item : *items)
      take(item);
  } else {
    take(json);
  }
}

bool is_enabled(const Json& capability) {
  const Json* const flag = capability.find("enabled");
  return flag != nullptr && flag->as_bool() != nullptr && *flag->as_bool();
}

// What forwards is a switch; Linux hosts announce Station, and often Router beside it (IEEE 802.1AB, 8.5.8).
model::FabricNodeKind kind_of(const Json* capabilities) {
  bool bridge = false;
  bool router = false;
  bool station = false;
  if (capabilities == nullptr) return model::FabricNodeKind::kUnknown;
  for_each_item(*capabilities, [&](const Json& capability) {
    if (!is_enabled(capability)) return;
    const std::string type = to_lower(text_of(capability.find("type")));
    bridge = bridge || type == "bridge";
    router = router || type == "router";
    station = station || type == "station";
  });
  if (station) return model::FabricNodeKind::kAdapter;
  return bridge || router ? model::FabricNodeKind::kSwitch : model::FabricNodeKind::kUnknown;
}

LldpChassis read_plain_chassis(const Json& json, std::string name) {
  LldpChassis chassis;
  const Json* const id = first(json.find("id"));
  const std::string id_text = text_of(id);
  const bool is_mac = id != nullptr && to_lower(text_of(id->find("type"))) == "mac";
  if (is_mac) chassis.mac = parse_mac(id_text);
  if (name.empty()) name = text_of(json.find("name"));
  chassis.name = name.empty() && chassis.mac == 0 ? id_text : name;
  chassis.kind = kind_of(json.find("capability"));
  return chassis;
}

// Switches name ports in the id or in the description, whichever is an interface name.
std::string port_name(const Json* port) {
  port = first(port);
  if (port == nullptr) return {};
  const Json* const id = first(port->find("id"));
  const std::string value = text_of(id);
  const std::string type = id != nullptr ? to_lower(text_of(id->find("type"))) : std::string();
  const std::string description = text_of(port->find("descr"));
  const bool one_word = !description.empty() && description.find(' ') == std::string::npos;
  return type == "ifname" || value.empty() || !one_word ? (value.empty() ? description : value) : description;
}

void read_interface(const Json& json, const std::string& name, std::vector<LldpNeighbour>& neighbours) {
  const Json* const chassis = json.find("chassis");
  const auto known = chassis != nullptr ? read_chassis(*chassis) : std::nullopt;
  if (!known) return;
  LldpNeighbour neighbour;
  neighbour.interface = name;
  neighbour.chassis = *known;
  const Json* const port = first(json.find("port"));
  neighbour.port = port_name(port);
  const Json* const link = port != nullptr ? first(port->find("auto-negotiation")) : nullptr;
  if (link != nullptr) neighbour.rate = rate_of_medium(text_of(link->find("current")));
  neighbours.push_back(std::move(neighbour));
}

}  // namespace

std::optional<LldpChassis> read_chassis(const Json& chassis) {
  const Json* const json = first(&chassis);
  if (json == nullptr || json->as_object() == nullptr || json->as_object()->empty()) return std::nullopt;
  const Json* const id = first(json->find("id"));
  const bool is_plain = id != nullptr && (id->as_string() != nullptr || id->find("value") != nullptr);
  if (is_plain) return read_plain_chassis(*json, {});
  const auto& [name, inside] = json->as_object()->front();  // json: {"leaf-1": {…}}
  return inside.as_object() != nullptr ? std::optional(read_plain_chassis(inside, clean_name(name)))
                                       : std::nullopt;
}

std::vector<LldpNeighbour> read_neighbours(const Json& lldp) {
  std::vector<LldpNeighbour> neighbours;
  for_each_item(lldp, [&](const Json& part) {
    const Json* const interfaces = part.find("interface");
    if (interfaces == nullptr) return;
    for_each_item(*interfaces, [&](const Json& item) {
      if (item.as_object() == nullptr) return;
      const Json* const chassis = item.find("chassis");
      if (chassis != nullptr && item.find("name") != nullptr) {  // json0
        read_interface(item, text_of(item.find("name")), neighbours);
        return;
      }
      for (const auto& [name, inside] : *item.as_object())
        read_interface(inside, clean_name(name), neighbours);
    });
  });
  return neighbours;
}

std::optional<BitsPerSecond> rate_of_medium(std::string_view text) {
  Cursor cursor(text);
  const auto number = cursor.take_number();
  if (!number || *number == 0 || *number > 10000) return std::nullopt;
  const std::string rest = to_lower(cursor.rest());
  if (rest.starts_with("gbase") || rest.starts_with("gigbase")) return BitsPerSecond{*number * 1e9};
  return rest.starts_with("base") ? std::optional(BitsPerSecond{*number * 1e6}) : std::nullopt;
}

std::uint64_t parse_mac(std::string_view text) {
  constexpr std::size_t kLength = 17;  // "00:11:22:33:44:55"
  if (text.size() != kLength) return 0;
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 3 == 2) {
      if (text[i] != ':' && text[i] != '-') return 0;
    } else {
      digits += text[i];
    }
  }
  return parse_integer<std::uint64_t>(digits, 16).value_or(0);
}

}  // namespace angio::import::fabric
