#include "import/fabric/port_list.hpp"

#include <array>

#include "base/text.hpp"
#include "import/fabric/cursor.hpp"

namespace angio::import::fabric {
namespace {

struct Kind {
  std::string_view word;
  model::FabricNodeKind kind;
};
constexpr std::array kKinds = {
    Kind{"CA ", model::FabricNodeKind::kAdapter}, Kind{"SW ", model::FabricNodeKind::kSwitch},
    Kind{"RT ", model::FabricNodeKind::kRouter}, Kind{"?? ", model::FabricNodeKind::kUnknown}};

std::optional<ListedPort> take_port(Cursor& cursor) {
  ListedPort port;
  bool has_kind = false;
  for (const Kind& kind : kKinds) {
    if (!cursor.eat(kind.word)) continue;
    port.kind = kind.kind;
    has_kind = true;
    break;
  }
  cursor.skip_gaps();
  const auto lid = cursor.take_number();
  cursor.skip_gaps();
  const auto number = cursor.take_number();
  cursor.skip_gaps();
  if (!has_kind || !lid || !number || !cursor.rest().starts_with("0x")) return std::nullopt;
  const auto guid = cursor.take_hex();
  if (!guid) return std::nullopt;
  port.lid = to_lid(*lid);
  port.number = *number;
  port.guid = *guid;
  return port;
}

std::string_view without_quotes(std::string_view name) {
  name = trim(name);
  if (name.starts_with('\'')) name.remove_prefix(1);
  if (name.ends_with('\'')) name.remove_suffix(1);
  return name;
}

// "( 'gpu-a HCA-1' - 'leaf-1' )"
void take_names(std::string_view text, PortListLine& line) {
  constexpr std::string_view kBetween = "' - '";
  text = trim(text);
  if (text.starts_with('(')) text.remove_prefix(1);
  if (text.ends_with(')')) text.remove_suffix(1);
  const std::size_t between = text.find(kBetween);
  if (between == std::string_view::npos) return;
  line.port.name = without_quotes(text.substr(0, between + 1));
  line.other->name = without_quotes(text.substr(between + kBetween.size() - 1));
}

std::optional<PortListLine> parse_from(std::string_view text) {
  PortListLine line;
  Cursor cursor(text);
  const auto port = take_port(cursor);
  if (!port) return std::nullopt;
  line.port = *port;
  cursor.skip_gaps();
  const std::string_view width = cursor.take_word();
  cursor.skip_gaps();
  const std::string_view speed = cursor.take_word();
  if (!width.ends_with('x') && width != "??") return std::nullopt;
  line.rate = {parse_lanes(width), model::find_lane_speed(speed)};
  cursor.skip_gaps();
  if (cursor.eat("- ")) {
    line.other = take_port(cursor);
    if (line.other) take_names(cursor.rest(), line);
    return line;
  }
  line.port.name = without_quotes(cursor.rest());
  return line;
}

std::optional<std::uint32_t> node_of(const ListedPort& port, std::uint32_t line, FabricDraft& draft) {
  const std::string name = clean_name(port.name);
  const auto node = draft.node_of_port_guid(port.guid, port.number, name, line);
  if (!node) return std::nullopt;
  if (draft.node(*node).kind == model::FabricNodeKind::kUnknown) draft.node(*node).kind = port.kind;
  const bool is_switch = port.kind == model::FabricNodeKind::kSwitch;
  if (is_switch) {
    if (model::FabricPort* const own = draft.port({*node, 0}, line)) {
      own->guid = port.guid;
      if (port.lid) own->lid = port.lid;
    }
  }
  model::FabricPort* const added = draft.port({*node, port.number}, line);
  if (added != nullptr && !is_switch) {
    added->guid = port.guid;
    if (port.lid) added->lid = port.lid;
  }
  return node;
}

}  // namespace

std::optional<PortListLine> parse_port_list_line(std::string_view text) {
  for (std::size_t at = 0; at + 3 <= text.size(); ++at) {
    const bool starts_word = at == 0 || !is_letter(text[at - 1]);
    const char c = text[at];
    if (!starts_word || text[at + 2] != ' ' || (c != 'C' && c != 'S' && c != 'R' && c != '?')) continue;
    if (auto line = parse_from(text.substr(at))) return line;
  }
  return std::nullopt;
}

void take_port_list_line(const PortListLine& line, std::uint32_t number, FabricDraft& draft) {
  const auto node = node_of(line.port, number, draft);
  if (!node) return;
  draft.set_own_block(*node);
  if (!line.other) return;
  const auto other = node_of(*line.other, number, draft);
  if (!other) return;
  draft.link({*node, line.port.number}, {*other, line.other->number}, number);
  model::FabricPort* const port = draft.port({*node, line.port.number}, number);
  if (port == nullptr) return;
  port->physical_state = model::PortPhysicalState::kLinkUp;
  port->lanes = line.rate.lanes;
  port->speed = line.rate.speed;
  if (line.rate.speed == model::LaneSpeedName::kUnknown) {
    draft.note("fabric.unknown-speed", number, "the speed of this link is none that the tool knew",
               "run a newer ibnetdiscover, or give iblinkinfo too");
  }
}

}  // namespace angio::import::fabric
