#include "import/fabric/ibnetdiscover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "import/draft.hpp"
#include "import/fabric/cursor.hpp"
#include "import/fabric/ibnetdiscover_line.hpp"
#include "import/fabric/port_list.hpp"
#include "import/fabric/scan_time.hpp"

namespace angio::import::fabric {
namespace {

// Lines that belong to the output and hold nothing of the model.
constexpr std::array<std::string_view, 7> kFurniture = {
    "#", "Chassis ", "Non-Chassis Nodes", "Hostname:", "pdebug", "width", "speed"};

class Reader {
 public:
  explicit Reader(FabricDraft&& draft) : draft_(std::move(draft)) {}

  void take(const Line& line) {
    if (line.text.empty()) {
      current_.reset();
    } else if (const auto assignment = parse_assignment(line.text)) {
      take_assignment(*assignment);
    } else if (const auto port = parse_port_line(line.text)) {
      take_port(*port, line.number);
    } else if (const auto node = parse_node_line(line.text)) {
      take_node(*node, line.number);
    } else if (const auto listed = parse_port_list_line(line.text)) {
      has_list_ = true;
      take_port_list_line(*listed, line.number, draft_);
    } else {
      take_other(line);
    }
  }

  Result<model::Fabric> finish() && {
    tell_cut();
    set_missing_guids();
    set_seen_from();
    if (has_list_) {
      draft_.note("fabric.port-guids-only", 0,
                  "a port list gives no GUIDs of nodes: adapters have the GUID of their first port here",
                  "ibnetdiscover without --ports has them");
    }
    return std::move(draft_).finish(
        "nodes such as Switch 36 \"S-0002c9…\" with their ports, or the lines of ibnetdiscover --ports",
        "run ibnetdiscover > fabric.txt on a node of the fabric, as root");
  }

 private:
  struct Pending {  // what stands above a node's heading
    std::uint32_t vendor = 0;
    std::uint32_t device = 0;
    std::uint64_t system_guid = 0;
    std::uint64_t guid = 0;
    std::uint64_t port_guid = 0;
  };

  // The tool writes a block for each node that a cable leads to.
  void tell_cut() {
    if (has_list_) return;
    std::size_t without = 0;
    for (std::uint32_t i = 0; i < draft_.fabric.nodes.size(); ++i)
      if (draft_.node(i).guid.value != 0 && !draft_.has_own_block(i)) ++without;
    if (without == 0) return;
    draft_.note("fabric.text-cut", 0,
                fmt::format("{} of {} nodes have no block of their own: the text is cut", without,
                            draft_.fabric.nodes.size()),
                "run ibnetdiscover again and keep its whole output");
  }

  void take_assignment(const Assignment& assignment) {
    current_.reset();
    if (assignment.name == "vendid") {
      pending_ = {};
      pending_.vendor = static_cast<std::uint32_t>(assignment.value);
    } else if (assignment.name == "devid") {
      pending_.device = static_cast<std::uint32_t>(assignment.value);
    } else if (assignment.name == "sysimgguid") {
      pending_.system_guid = assignment.value;
    } else {
      pending_.guid = assignment.value;
      pending_.port_guid = assignment.in_brackets;
    }
  }

  // "S-0002c9…" says the GUID itself; ids of ibsim are any text.
  std::optional<std::uint32_t> node_of(std::string_view id, std::uint32_t line) {
    const auto guid = guid_of_id(id);
    const auto node = guid ? draft_.node_of_guid(*guid, line) : draft_.node_of_id(id, line);
    if (!node) return node;
    model::FabricNode& found = draft_.node(*node);
    if (found.kind == model::FabricNodeKind::kUnknown) found.kind = kind_of_id(id);
    if (!guid && found.description.empty()) found.description = clean_name(id);
    return node;
  }

  void take_node(const NodeLine& line, std::uint32_t number) {
    current_ = node_of(line.id, number);
    const Pending pending = std::exchange(pending_, {});
    if (!current_) return;
    model::FabricNode& node = draft_.node(*current_);
    if (draft_.has_own_block(*current_)) note_repeated(node, line, number);
    draft_.set_own_block(*current_);
    if (line.kind != model::FabricNodeKind::kUnknown) node.kind = line.kind;
    if (!line.description.empty()) node.description = clean_name(line.description);
    if (line.ports <= draft_.most_number) node.stated_ports = line.ports;
    node.vendor = pending.vendor;
    node.device = pending.device;
    node.system_guid = pending.system_guid;
    if (pending.guid != 0 && !guid_of_id(line.id)) draft_.claim_guid(*current_, pending.guid);
    if (node.guid.value == 0) without_guid_.push_back(*current_);
    if (node.kind == model::FabricNodeKind::kSwitch) take_own_port(line, pending, number);
  }

  void take_own_port(const NodeLine& line, const Pending& pending, std::uint32_t number) {
    model::FabricPort* const own = draft_.port({*current_, 0}, number);
    if (own == nullptr) return;
    if (pending.port_guid != 0) {
      own->guid = pending.port_guid;
      draft_.claim_port_guid(*current_, pending.port_guid);
    }
    if (line.lid) own->lid = line.lid;
  }

  void note_repeated(const model::FabricNode& node, const NodeLine& line, std::uint32_t number) {
    const std::string name = clean_name(line.description);
    const bool same = name.empty() || name == node.description;
    draft_.note(
        same ? "fabric.repeated-node" : "fabric.duplicate-guid", number,
        [&] {
          return same ? fmt::format("{} is there twice; what is new in the second block was added",
                                    quoted(line.id))
                      : fmt::format("{} and {} have the GUID {}", quoted(node.description), quoted(name),
                                    to_string(node.guid));
        },
        same ? "one scan per file says which one holds"
             : "two devices with one GUID break routing: look at both; or two scans are in one file");
  }

  void take_port(const PortLine& line, std::uint32_t number) {
    if (!current_) {
      draft_.note(
          "fabric.port-without-node", number,
          [&] { return fmt::format("port {} stands below no node", line.number); },
          "the heading above it is damaged or cut off: run ibnetdiscover again");
      return;
    }
    const std::uint32_t node = *current_;
    if (line.number == 0 || line.other_number == 0) {
      draft_.note("fabric.port-out-of-range", number, "port 0 has no cable",
                  "the line is damaged: run the command again");
      return;
    }
    if (draft_.port({node, line.number}, number) == nullptr) return;  // a number that no port has
    const auto other = node_of(line.id, number);
    if (!other) return;
    take_ends(node, *other, line, number);
    model::FabricPort* const port = draft_.port({node, line.number}, number);
    if (port == nullptr) return;
    if (line.rate.lanes != 0 || line.has_unknown_speed || line.rate.speed != model::LaneSpeedName::kUnknown)
      port->physical_state = model::PortPhysicalState::kLinkUp;  // a scan only goes through such ports
    if (line.rate.lanes != 0) port->lanes = line.rate.lanes;
    if (line.rate.speed != model::LaneSpeedName::kUnknown) port->speed = line.rate.speed;
    if (line.guid != 0) port->guid = line.guid;
    if (line.lid) port->lid = line.lid;
    draft_.claim_port_guid(node, line.guid);
    if (line.has_unknown_speed) {
      draft_.note("fabric.unknown-speed", number, "the speed of this link is none that the tool knew",
                  "run a newer ibnetdiscover, or give iblinkinfo too");
    }
  }

  // What the line says of the other node: its name, LID and port GUID, for nodes without a block of their
  // own.
  void take_ends(std::uint32_t node, std::uint32_t other, const PortLine& line, std::uint32_t number) {
    model::FabricNode& there = draft_.node(other);
    const bool is_switch = there.kind == model::FabricNodeKind::kSwitch;
    const std::string_view id_name = guid_of_id(line.id) ? std::string_view{} : line.id;
    const bool unnamed = there.description.empty() || there.description == id_name;
    if (unnamed && !line.other_description.empty() && !draft_.has_own_block(other))
      there.description = clean_name(line.other_description);
    draft_.link({node, line.number}, {other, line.other_number}, number);
    model::FabricPort* const own = draft_.port({other, is_switch ? 0 : line.other_number}, number);
    if (own == nullptr) return;
    if (line.other_lid && !own->lid) own->lid = line.other_lid;
    if (line.other_guid == 0 || is_switch) return;
    if (own->guid == 0) own->guid = line.other_guid;
    draft_.claim_port_guid(other, line.other_guid);
  }

  void take_other(const Line& line) {
    const std::string_view text = trim(line.text);
    if (contains(text, "Topology file: generated on ")) {
      take_time(text.substr(text.find("generated on ") + 13), line.number);
    } else if (contains(text, "Initiated from node ")) {
      Cursor cursor(text);
      cursor.skip_past("node ");
      from_node_ = cursor.take_hex().value_or(0);
      if (cursor.skip_past("port ")) from_port_ = cursor.take_hex().value_or(0);
    } else if (text.starts_with("include ") || text.starts_with("do ") || text.starts_with("module")) {
      draft_.note(
          "fabric.ibsim-command", line.number,
          [&] { return "a command of ibsim is not carried out: " + quoted(text); },
          "start ibsim with the file, and scan it");
    } else if (!std::ranges::any_of(kFurniture,
                                    [&](std::string_view word) { return text.starts_with(word); })) {
      if (contains(text, "\"")) current_.reset();  // a heading that cannot be read: its ports are nobody's
      draft_.note_unknown_line(line.number, text);
    }
  }

  void take_time(std::string_view text, std::uint32_t number) {
    const auto time = parse_scan_time(text);
    if (!time) return;
    draft_.fabric.captured = time->utc;
    if (!time->has_zone) {
      draft_.note("fabric.no-time-zone", number, "the time of the scan has no zone: taken as UTC",
                  "nothing to do; intervals between scans of one host are right");
    }
  }

  // ibsim counts from 0x200000 for switches and from 0x100000 for adapters, one for the node and one for each
  // of its ports (ibsim, sim_net.c, new_node).
  void set_missing_guids() {
    std::uint64_t next_switch = 0x200000;
    std::uint64_t next_adapter = 0x100000;
    for (std::uint32_t i = 0; i < draft_.fabric.nodes.size(); ++i) {
      if (draft_.node(i).guid.value == 0 && !draft_.has_own_block(i)) without_guid_.push_back(i);
    }
    if (without_guid_.empty()) return;
    for (const std::uint32_t index : without_guid_) {
      model::FabricNode& node = draft_.node(index);
      if (node.guid.value != 0) continue;
      const bool is_switch = node.kind == model::FabricNodeKind::kSwitch;
      std::uint64_t& next = is_switch ? next_switch : next_adapter;
      while (draft_.find_guid(next))
        ++next;
      draft_.claim_guid(index, next);
      next += is_switch ? 1 : node.stated_ports + 1;
    }
    draft_.note("fabric.made-up-guids", 0,
                "the text gives no GUIDs: nodes have those that ibsim would give them",
                "nothing to do for a net file of ibsim; a scan has real GUIDs");
  }

  void set_seen_from() {
    if (from_node_ == 0) return;
    const auto index = draft_.find_guid(from_node_);
    if (!index) return;
    const model::FabricNode& node = draft_.node(*index);
    const auto port = std::ranges::find_if(
        node.ports, [&](const model::FabricPort& candidate) { return candidate.guid == from_port_; });
    std::string where = node.description.empty() ? to_string(node.guid) : node.description;
    if (port != node.ports.end() && from_port_ != 0) where += fmt::format(" port {}", port->number);
    draft_.fabric.seen_from.push_back(std::move(where));
  }

  FabricDraft draft_;
  Pending pending_;
  std::optional<std::uint32_t> current_;
  std::vector<std::uint32_t> without_guid_;
  std::uint64_t from_node_ = 0;
  std::uint64_t from_port_ = 0;
  bool has_list_ = false;
};

}  // namespace

bool is_ibnetdiscover_line(std::string_view text) {
  if (parse_port_line(text) || parse_node_line(text)) return true;
  const auto assignment = parse_assignment(text);
  return assignment && assignment->name.contains("guid");
}

bool is_port_list_line(std::string_view text) {
  return parse_port_list_line(text).has_value();
}

Result<model::Fabric> import_ibnetdiscover(const std::vector<Line>& lines, FabricDraft draft) {
  Reader reader(std::move(draft));
  for (const Line& line : lines)
    reader.take(line);
  return std::move(reader).finish();
}

}  // namespace angio::import::fabric
