#include "import/fabric/fabric_draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "import/draft.hpp"

namespace angio::import::fabric {
namespace {

// Far above any fabric (IBA has 49,151 unicast LIDs in a subnet), far below what a hostile text could name.
constexpr std::size_t kMostNodes = std::size_t{1} << 18U;
constexpr std::size_t kMostPorts = std::size_t{1} << 21U;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::size_t utf8_length(unsigned char first) {
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first < 0xE0U) return 2;
  if (first >= 0xE0U && first < 0xF0U) return 3;
  return first >= 0xF0U && first < 0xF5U ? 4 : 0;
}

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_allowed_second(unsigned char first, unsigned char second) {
  if (first == 0xE0U) return second >= 0xA0U;
  if (first == 0xEDU) return second < 0xA0U;
  if (first == 0xF0U) return second >= 0x90U;
  return first != 0xF4U || second < 0x90U;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_length(first);
    if (length == 0 || length > text.size()) return false;
    if (!std::ranges::all_of(text.substr(1, length - 1), is_continuation)) return false;
    if (length > 2 && !is_allowed_second(first, static_cast<unsigned char>(text[1]))) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::string clean_name(std::string_view bytes) {
  bytes = trim(bytes);
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80U) {
      text += c;
    } else {
      text += static_cast<char>(0xC0U | byte >> 6U);
      text += static_cast<char>(0x80U | (byte & 0x3FU));
    }
  }
  return text;
}

FabricDraft::FabricDraft(FabricText kind, const std::string& name) : name_(printable(name)) {
  fabric.name = name_;
  origin_ = std::string(name_of(kind));
  fabric.origin = fmt::format("{} {}", origin_, name_);
}

FabricDraft::FabricDraft(model::Fabric&& finished, const std::string& name)
    : fabric(std::move(finished)), name_(printable(name)) {
  own_block_.assign(fabric.nodes.size(), false);
  for (std::size_t i = 0; i < fabric.notes.size(); ++i)
    note_index_.emplace(fabric.notes[i].id, i);
  std::vector<Link> links;
  for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
    claim_guid(n, fabric.nodes[n].guid.value);
    std::vector<model::FabricPort>& ports = fabric.nodes[n].ports;
    ports_ += ports.size();
    for (std::uint32_t p = 0; p < ports.size(); ++p) {
      slots_.try_emplace(key({n, ports[p].number}), Slot{p, false});
      claim_port_guid(n, ports[p].guid);
      const auto peer = ports[p].peer;
      if (!peer || peer->node >= fabric.nodes.size()) continue;
      const std::vector<model::FabricPort>& others = fabric.nodes[peer->node].ports;
      if (peer->port < others.size())
        links.push_back({{n, ports[p].number}, {peer->node, others[peer->port].number}, 0});
    }
  }
  for (const Link& known : links)
    link(known.from, known.to, 0);
}

std::optional<std::uint32_t> FabricDraft::new_node(std::uint32_t line) {
  if (fabric.nodes.size() >= kMostNodes) {
    note("fabric.too-many-nodes", line, "more nodes than any fabric has; the rest is not read",
         "give one file per fabric");
    return std::nullopt;
  }
  fabric.nodes.emplace_back();
  own_block_.push_back(false);
  return static_cast<std::uint32_t>(fabric.nodes.size() - 1);
}

std::optional<std::uint32_t> FabricDraft::node_of_guid(std::uint64_t guid, std::uint32_t line) {
  if (const auto found = by_guid_.find(guid); found != by_guid_.end()) return found->second;
  const auto added = new_node(line);
  if (!added) return std::nullopt;
  fabric.nodes[*added].guid = {guid};
  by_guid_.emplace(guid, *added);
  return added;
}

std::optional<std::uint32_t> FabricDraft::node_of_port_guid(std::uint64_t guid, std::uint32_t number,
                                                            std::string_view description,
                                                            std::uint32_t line) {
  if (const auto known = find_port_guid(guid)) return known;
  if (const auto known = find_guid(guid)) return known;
  const std::uint64_t family = guid - number;
  const auto sibling = by_family_.find(family);
  const bool same = sibling != by_family_.end() && find_port({sibling->second, number}) == nullptr &&
                    fabric.nodes[sibling->second].description == description;
  const auto node = same ? std::optional(sibling->second) : node_of_guid(guid, line);
  if (!node) return std::nullopt;
  by_family_.try_emplace(family, *node);
  claim_port_guid(*node, guid);
  if (fabric.nodes[*node].description.empty()) fabric.nodes[*node].description = std::string(description);
  return node;
}

std::optional<std::uint32_t> FabricDraft::node_of_id(std::string_view id, std::uint32_t line) {
  const std::string wanted(id);
  if (const auto found = by_id_.find(wanted); found != by_id_.end()) return found->second;
  const auto added = new_node(line);
  if (added) by_id_.emplace(wanted, *added);
  return added;
}

std::optional<std::uint32_t> FabricDraft::find_guid(std::uint64_t guid) const {
  const auto found = by_guid_.find(guid);
  return found != by_guid_.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<std::uint32_t> FabricDraft::find_port_guid(std::uint64_t guid) const {
  const auto found = by_port_guid_.find(guid);
  return found != by_port_guid_.end() ? std::optional(found->second) : std::nullopt;
}

void FabricDraft::claim_guid(std::uint32_t node, std::uint64_t guid) {
  if (guid == 0) return;
  if (by_guid_.try_emplace(guid, node).second) fabric.nodes[node].guid = {guid};
}

void FabricDraft::claim_port_guid(std::uint32_t node, std::uint64_t guid) {
  if (guid != 0) by_port_guid_.try_emplace(guid, node);
}

model::FabricPort* FabricDraft::port(End end, std::uint32_t line) {
  std::vector<model::FabricPort>& ports = fabric.nodes[end.node].ports;
  if (const auto found = slots_.find(key(end)); found != slots_.end()) return &ports[found->second.index];
  if (end.number > most_number) {
    note(
        "fabric.port-out-of-range", line,
        [&] { return fmt::format("port {}: no node has more than {} ports", end.number, most_number); },
        "the line is damaged: run the command again");
    return nullptr;
  }
  if (ports_ >= kMostPorts) {
    note("fabric.too-many-ports", line, "more ports than any fabric has; the rest is not read",
         "give one file per fabric");
    return nullptr;
  }
  ++ports_;
  slots_.emplace(key(end), Slot{static_cast<std::uint32_t>(ports.size()), false});
  ports.emplace_back().number = end.number;
  return &ports.back();
}

const model::FabricPort* FabricDraft::find_port(End end) const {
  const auto found = slots_.find(key(end));
  return found != slots_.end() ? &fabric.nodes[end.node].ports[found->second.index] : nullptr;
}

void FabricDraft::link(End from, End to, std::uint32_t line) {
  if (from.number == 0 || to.number == 0) {
    note("fabric.port-out-of-range", line, "port 0 has no cable",
         "the line is damaged: run the command again");
    return;
  }
  if (port(from, line) == nullptr || port(to, line) == nullptr) return;
  slots_.find(key(from))->second.has_own_link = true;
  links_.push_back({from, to, line});
}

bool FabricDraft::count_again(std::string_view id) {
  const auto found = note_index_.find(id);
  if (found != note_index_.end()) ++fabric.notes[found->second].count;
  return found != note_index_.end();
}

void FabricDraft::note(std::string_view id, std::uint32_t line, std::string_view text,
                       std::string_view remedy) {
  if (count_again(id)) return;
  note_index_.emplace(id, fabric.notes.size());
  const std::string place = line > 0 ? fmt::format("{}:{}", name_, line) : name_;
  fabric.notes.push_back({std::string(id), fmt::format("{}: {}", place, text), 1, std::string(remedy)});
}

void FabricDraft::note_unknown_line(std::uint32_t line, std::string_view text) {
  note(
      "fabric.unknown-line", line, [&] { return "not understood: " + quoted(text); },
      "nothing to do if this is prose around the output; otherwise run the command again");
}

std::string FabricDraft::words_of(End end) const {
  const model::FabricNode& node = fabric.nodes[end.node];
  const std::string owner = node.description.empty() ? to_string(node.guid) : node.description;
  const model::FabricPort* const known = find_port(end);
  if (known != nullptr && !known->name.empty()) return printable(fmt::format("{} {}", owner, known->name));
  return printable(fmt::format("{} port {}", owner, end.number));
}

// Ports by number; slots_ follows.
void FabricDraft::order_ports() {
  for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
    std::vector<model::FabricPort>& ports = fabric.nodes[n].ports;
    if (std::ranges::is_sorted(ports, {}, &model::FabricPort::number)) continue;
    std::ranges::stable_sort(ports, {}, &model::FabricPort::number);
    for (std::uint32_t p = 0; p < ports.size(); ++p)
      slots_.find(key({n, ports[p].number}))->second.index = p;
  }
}

void FabricDraft::join_links() {
  for (model::FabricNode& node : fabric.nodes) {
    for (model::FabricPort& port : node.ports)
      port.peer.reset();
  }
  for (const Link& link : links_) {
    const Slot& from = slots_.find(key(link.from))->second;
    const Slot& to = slots_.find(key(link.to))->second;
    if (!connect(fabric, {link.from.node, from.index}, {link.to.node, to.index})) {
      note(
          "fabric.ends-contradict", link.line,
          [&] {
            return fmt::format("{} says it leads to {}, another line says otherwise; the first line counts",
                               words_of(link.from), words_of(link.to));
          },
          "a cable was moved during the scan, or two scans are in one file: scan again");
    } else if (!to.has_own_link && own_block_[link.to.node]) {
      note(
          "fabric.one-sided-link", link.line,
          [&] {
            return fmt::format("only {} tells of the cable to {}", words_of(link.from), words_of(link.to));
          },
          fabric.kind == model::FabricKind::kEthernet
              ? "lldpd at one end only listens or only speaks, or its output is cut"
              : "the text is cut, or the link came up during the scan: scan again if it matters");
    }
  }
}

// A link runs at one width and speed (IBA): what one end states holds for the other.
void FabricDraft::share_rates() {
  for (model::FabricNode& node : fabric.nodes) {
    for (model::FabricPort& port : node.ports) {
      if (!port.peer) continue;
      model::FabricPort& other = fabric.nodes[port.peer->node].ports[port.peer->port];
      if (port.lanes == 0 && port.speed == model::LaneSpeedName::kUnknown) {
        port.lanes = other.lanes;
        port.speed = other.speed;
      }
      if (!port.stated_rate) port.stated_rate = other.stated_rate;
    }
  }
}

model::Fabric FabricDraft::join() && {
  order_ports();
  join_links();
  share_rates();
  for (model::FabricNode& node : fabric.nodes) {
    const bool is_stated = node.stated_ports > 0 && !node.ports.empty();
    if (is_stated) node.stated_ports = std::max(node.stated_ports, node.ports.back().number);
  }
  return std::move(fabric);
}

Result<model::Fabric> FabricDraft::finish(std::string_view expected, std::string_view remedy) && {
  if (fabric.nodes.empty()) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{}: nothing could be read as {}: expected {}", name_, origin_, expected),
                std::string(remedy));
  }
  return std::move(*this).join();
}

}  // namespace angio::import::fabric
