#include <array>

#include "base/text.hpp"
#include "import/fabric/cursor.hpp"
#include "import/fabric/ibdiagnet.hpp"
#include "import/fabric/link_words.hpp"

namespace angio::import::fabric {
namespace {

struct ListedEnd {
  model::FabricNodeKind kind = model::FabricNodeKind::kUnknown;
  std::uint32_t ports = 0;
  std::uint64_t system_guid = 0;
  std::uint64_t guid = 0;
  std::uint64_t port_guid = 0;
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t revision = 0;
  std::string_view name;
  std::uint64_t lid = 0;
  std::uint32_t number = 0;
};

std::uint64_t field(std::string_view text, std::string_view name) {
  Cursor cursor(text);
  return cursor.skip_past(name) ? cursor.take_hex().value_or(0) : 0;
}

std::uint32_t small_field(std::string_view text, std::string_view name) {
  const std::uint64_t value = field(text, name);
  return value <= ~std::uint32_t{0} ? static_cast<std::uint32_t>(value) : 0;
}

// "{ SW Ports:24 SystemGUID:… NodeGUID:… PortGUID:… VenID:000002C9 DevID:C738 Rev:000000A1 {leaf-1} LID:0002
// PN:14 }": all numbers are hexadecimal, ports too.
std::optional<ListedEnd> take_end(Cursor& cursor) {
  if (!cursor.skip_past("{ ")) return std::nullopt;
  ListedEnd end;
  const std::string_view kind = cursor.take_word();
  if (kind == "SW") end.kind = model::FabricNodeKind::kSwitch;
  if (kind == "CA") end.kind = model::FabricNodeKind::kAdapter;
  if (kind == "RTR") end.kind = model::FabricNodeKind::kRouter;
  const std::string_view rest = cursor.rest();
  const std::size_t number_at = rest.find(" PN:");
  if (!contains(rest.substr(0, number_at), "NodeGUID:") || number_at == std::string_view::npos)
    return std::nullopt;
  std::string_view head = rest.substr(0, number_at);
  const std::size_t open = head.find('{');
  const std::size_t close = head.rfind('}');
  if (open != std::string_view::npos && close != std::string_view::npos && close > open)
    end.name = head.substr(open + 1, close - open - 1);
  const std::size_t lid_at = head.rfind(" LID:");  // behind the name, which may hold anything
  if (lid_at != std::string_view::npos) end.lid = field(head.substr(lid_at), " LID:");
  head = head.substr(0, open);
  end.ports = small_field(head, "Ports:");
  end.system_guid = field(head, "SystemGUID:");
  end.guid = field(head, "NodeGUID:");
  end.port_guid = field(head, "PortGUID:");
  end.vendor = small_field(head, "VenID:");
  end.device = small_field(head, "DevID:");
  end.revision = small_field(head, "Rev:");
  end.number = small_field(rest, " PN:");
  cursor.skip_past(" PN:");
  cursor.skip_past("}");
  return end.guid != 0 ? std::optional(end) : std::nullopt;
}

struct LstLine {
  ListedEnd a;
  ListedEnd b;
  LinkRate rate;
  model::PortState state = model::PortState::kUnknown;
};

std::optional<LstLine> parse_line(std::string_view text) {
  Cursor cursor(text);
  const auto a = take_end(cursor);
  const auto b = a ? take_end(cursor) : std::nullopt;
  if (!b) return std::nullopt;
  LstLine line{*a, *b, {}, {}};
  if (cursor.skip_past("PHY=")) line.rate.lanes = parse_lanes(cursor.take_word());
  if (cursor.skip_past("LOG=")) line.state = parse_state(cursor.take_word());
  if (cursor.skip_past("SPD=")) line.rate.speed = parse_lane_rate(trim(cursor.take_word()));
  return line;
}

std::optional<End> put(const ListedEnd& end, const LstLine& line, std::uint32_t number, FabricDraft& draft) {
  const auto index = draft.node_of_guid(end.guid, number);
  if (!index) return std::nullopt;
  model::FabricNode& node = draft.node(*index);
  node.kind = end.kind;
  node.system_guid = end.system_guid;
  node.vendor = end.vendor;
  node.device = end.device;
  node.revision = end.revision;
  node.stated_ports = end.ports;
  if (!end.name.empty()) node.description = clean_name(end.name);
  const bool is_switch = end.kind == model::FabricNodeKind::kSwitch;
  if (model::FabricPort* const owner = draft.port({*index, is_switch ? 0 : end.number}, number)) {
    owner->guid = end.port_guid;
    owner->lid = to_lid(end.lid);
    draft.claim_port_guid(*index, end.port_guid);
  }
  if (model::FabricPort* const port = draft.port({*index, end.number}, number)) {
    port->state = line.state;
    port->lanes = line.rate.lanes;
    port->speed = line.rate.speed;
  }
  return End{*index, end.number};
}

}  // namespace

bool is_lst_line(std::string_view text) {
  return contains(text, "NodeGUID:") && parse_line(text).has_value();
}

bool take_lst_line(const Line& line, FabricDraft& draft) {
  if (!contains(line.text, "NodeGUID:")) return false;
  const auto cable = parse_line(line.text);
  if (!cable) {
    draft.note("fabric.cut-line", line.number, "the line is cut off or damaged", "copy ibdiagnet2.lst again");
    return true;
  }
  const auto a = put(cable->a, *cable, line.number, draft);
  const auto b = put(cable->b, *cable, line.number, draft);
  if (a && b) {
    draft.link(*a, *b, line.number);
    draft.link(*b, *a, line.number);
  }
  return true;
}

}  // namespace angio::import::fabric
