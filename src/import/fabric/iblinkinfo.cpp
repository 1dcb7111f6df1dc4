#include "import/fabric/iblinkinfo.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.hpp"
#include "import/fabric/cursor.hpp"

namespace angio::import::fabric {
namespace {

struct Heading {
  model::FabricNodeKind kind = model::FabricNodeKind::kUnknown;
  std::uint64_t guid = 0;  // switches
  std::string_view name;
};
struct HeadingWord {
  std::string_view word;
  model::FabricNodeKind kind;
};
constexpr std::array kHeadingWords = {HeadingWord{"Switch: ", model::FabricNodeKind::kSwitch},
                                      HeadingWord{"CA: ", model::FabricNodeKind::kAdapter},
                                      HeadingWord{"Router: ", model::FabricNodeKind::kRouter},
                                      HeadingWord{"??: ", model::FabricNodeKind::kUnknown}};

// "Switch: 0x0002c903006e1430 leaf-1:", "CA: gpu-a HCA-1:"
std::optional<Heading> parse_heading(std::string_view text) {
  text = trim(text);
  if (!text.ends_with(':')) return std::nullopt;
  for (const HeadingWord& candidate : kHeadingWords) {
    const std::size_t at = text.find(candidate.word);
    const bool starts_word = at != std::string_view::npos && (at == 0 || !is_letter(text[at - 1]));
    if (!starts_word) continue;
    Cursor cursor(text.substr(at + candidate.word.size()));
    Heading heading;
    heading.kind = candidate.kind;
    if (candidate.kind == model::FabricNodeKind::kSwitch) {
      const auto guid = cursor.take_hex();
      if (!guid) return std::nullopt;
      heading.guid = *guid;
    }
    const std::string_view name = trim(cursor.rest());
    heading.name = name.ends_with(':') ? name.substr(0, name.size() - 1) : name;
    return heading;
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(FabricDraft&& draft) : draft_(std::move(draft)) {}

  void take(const Line& line) {
    if (line.text.empty()) return;
    if (const auto link = parse_link_line(line.text)) {
      take_link(*link, line.number);
    } else if (const auto heading = parse_heading(line.text)) {
      take_heading(*heading, line.number);
    } else if (contains(line.text, "==(") || contains(line.text, "==>")) {
      draft_.note("fabric.cut-line", line.number, "the line is cut off or damaged",
                  "run iblinkinfo again; in a terminal that is too narrow, write to a file");
    } else {
      draft_.note_unknown_line(line.number, line.text);
    }
  }

  Result<model::Fabric> finish() && {
    open_.join(draft_);
    tell_kinds();
    if (adapters_by_port_) {
      draft_.note("fabric.port-guids-only", 0,
                  "iblinkinfo gives no GUIDs of adapters: they have the GUID of their first port here",
                  "give ibnetdiscover too");
    }
    return std::move(draft_).finish("lines such as 10 21[ ] ==( 4X 25.78125 Gbps Active/ LinkUp)==>",
                                    "run iblinkinfo > links.txt on a node of the fabric, as root");
  }

 private:
  void take_heading(const Heading& heading, std::uint32_t number) {
    current_.reset();
    heading_ = heading;
    if (heading.guid == 0) return;  // the lines below have the GUID of the port
    current_ = draft_.node_of_guid(heading.guid, number);
    if (!current_) return;
    model::FabricNode& node = draft_.node(*current_);
    node.kind = heading.kind;
    node.description = clean_name(heading.name);
    draft_.set_own_block(*current_);
    draft_.claim_port_guid(*current_, heading.guid);
  }

  // --line: the line says it all; else it belongs to the heading above it.
  std::optional<std::uint32_t> node_of(const LinkLine& line, std::uint32_t number) {
    if (line.here.guid == 0) return current_;
    const bool has_name = !line.here.name.empty();
    const auto node = draft_.node_of_port_guid(line.here.guid, line.here.number,
                                               clean_name(has_name ? line.here.name : heading_.name), number);
    if (!node) return node;
    if (!has_name) {
      draft_.node(*node).kind = heading_.kind;
      adapters_by_port_ = true;
    }
    return node;
  }

  void take_link(const LinkLine& line, std::uint32_t number) {
    const auto node = node_of(line, number);
    if (!node) {
      draft_.note(
          "fabric.port-without-node", number,
          [&] { return fmt::format("port {} stands below no node", line.here.number); },
          "the heading above it is damaged or cut off: run iblinkinfo again");
      return;
    }
    draft_.set_own_block(*node);
    model::FabricPort* const port = draft_.port({*node, line.here.number}, number);
    if (port == nullptr) return;
    set_link_state(line, *port);
    if (line.here.guid != 0) port->guid = line.here.guid;
    if (draft_.node(*node).kind == model::FabricNodeKind::kSwitch) {
      set_own_port(*node, line.here.lid, number);
    } else {
      port->lid = to_lid(line.here.lid);
    }
    if (line.there) open_.add({*node, line.here.number}, *line.there, number);
  }

  void set_own_port(std::uint32_t node, std::uint64_t lid, std::uint32_t number) {
    model::FabricPort* const own = draft_.port({node, 0}, number);
    if (own == nullptr) return;
    own->guid = draft_.node(node).guid.value;
    if (!own->lid) own->lid = to_lid(lid);
  }

  // --line has no kinds. All ports of a switch have its GUID, each port of an adapter has its own.
  void tell_kinds() {
    bool told = false;
    for (std::uint32_t i = 0; i < draft_.fabric.nodes.size(); ++i) {
      model::FabricNode& node = draft_.node(i);
      if (node.kind != model::FabricNodeKind::kUnknown || node.ports.empty()) continue;
      std::uint32_t most = 0;
      std::uint64_t guid = 0;
      bool same = node.ports.size() > 1;
      for (const model::FabricPort& port : node.ports) {
        if (guid != 0 && port.guid != guid) same = false;
        guid = port.guid;
        most = std::max(most, port.number);
      }
      if (guid == 0) continue;  // named by LID only: nothing tells
      constexpr std::uint32_t kMostAdapterPorts = 2;
      const bool is_switch = same || most > kMostAdapterPorts;
      node.kind = is_switch ? model::FabricNodeKind::kSwitch : model::FabricNodeKind::kAdapter;
      told = true;
      if (is_switch) make_switch(i);
    }
    if (told) {
      draft_.note("fabric.kinds-inferred", 0,
                  "iblinkinfo --line does not say what is a switch: what has several ports with one GUID is "
                  "taken for one",
                  "give ibnetdiscover too");
    }
  }

  void make_switch(std::uint32_t index) {
    std::optional<Lid> lid;
    for (model::FabricPort& port : draft_.node(index).ports) {
      if (port.lid) lid = port.lid;
      port.lid.reset();
      port.guid = 0;
    }
    set_own_port(index, lid ? lid->value : 0, 0);
  }

  FabricDraft draft_;
  OpenEnds open_;
  Heading heading_;
  std::optional<std::uint32_t> current_;
  bool adapters_by_port_ = false;
};

}  // namespace

void OpenEnds::add(End from, const LinkEnd& to, std::uint32_t line) {
  open_.push_back({from, to, line});
}

std::string OpenEnds::name_key(std::uint64_t lid, std::string_view name) {
  return fmt::format("{} {}", lid, name);
}

std::optional<std::uint32_t> OpenEnds::find(const Open& open, FabricDraft& draft) {
  const std::string name = clean_name(open.to.name);
  if (open.to.guid != 0) {
    return draft.node_of_port_guid(open.to.guid, open.to.number, name, open.line);
  }
  const auto named = by_name_.find(name_key(open.to.lid, name));
  if (named != by_name_.end()) return named->second;
  if (open.to.lid != 0) {
    if (const auto known = by_lid_.find(open.to.lid); known != by_lid_.end()) return known->second;
  }
  const auto added = draft.new_node(open.line);
  if (!added) return std::nullopt;
  draft.node(*added).description = name;
  by_name_.emplace(name_key(open.to.lid, name), *added);
  if (open.to.lid != 0) by_lid_.emplace(open.to.lid, *added);
  return added;
}

void OpenEnds::join(FabricDraft& draft) {
  for (std::uint32_t i = 0; i < draft.fabric.nodes.size(); ++i) {
    const model::FabricNode& node = draft.fabric.nodes[i];
    by_name_.try_emplace(name_key(0, node.description), i);
    for (const model::FabricPort& port : node.ports) {
      if (!port.lid) continue;
      by_name_.try_emplace(name_key(port.lid->value, node.description), i);
      by_lid_.try_emplace(port.lid->value, i);
    }
  }
  for (const Open& open : open_) {
    const auto node = find(open, draft);
    if (!node) continue;
    const End to{*node, open.to.number};
    draft.link(open.from, to, open.line);
    model::FabricPort* const port = draft.port(to, open.line);
    if (port == nullptr) continue;
    // "Could be" is what both ends can, though --switches-only has the line of one.
    const model::FabricPort* const from = draft.find_port(open.from);
    if (from != nullptr && port->most_lanes == 0 && from->most_lanes != 0) {
      port->most_lanes = from->most_lanes;
      port->most_speed = from->most_speed;
    }
    if (draft.has_own_block(*node)) continue;
    if (draft.node(*node).kind != model::FabricNodeKind::kSwitch) {
      if (!port->lid) port->lid = to_lid(open.to.lid);
      if (open.to.guid != 0) port->guid = open.to.guid;
    }
  }
}

bool is_iblinkinfo_line(std::string_view text) {
  return parse_link_line(text).has_value() && !contains(text, "Link info:");
}

Result<model::Fabric> import_iblinkinfo(const std::vector<Line>& lines, FabricDraft draft) {
  Reader reader(std::move(draft));
  for (const Line& line : lines)
    reader.take(line);
  return std::move(reader).finish();
}

}  // namespace angio::import::fabric
