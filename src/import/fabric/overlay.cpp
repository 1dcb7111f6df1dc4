#include "import/fabric/overlay.hpp"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "import/draft.hpp"
#include "import/fabric/fabric_draft.hpp"

namespace angio::import::fabric {
namespace {

using model::Fabric;
using model::FabricNode;
using model::FabricPort;

constexpr std::uint32_t kSeveral = ~std::uint32_t{0};

// A key that only one node has leads to it; one that several have leads nowhere.
template <typename Key>
class Index {
 public:
  void add(const Key& key, std::uint32_t node) {
    const auto [found, added] = nodes_.try_emplace(key, node);
    if (!added && found->second != node) found->second = kSeveral;
  }
  [[nodiscard]] std::optional<std::uint32_t> find(const Key& key) const {
    const auto found = nodes_.find(key);
    return found != nodes_.end() && found->second != kSeveral ? std::optional(found->second) : std::nullopt;
  }

 private:
  std::unordered_map<Key, std::uint32_t> nodes_;
};

std::string name_and_lid(const std::string& name, Lid lid) {
  return fmt::format("{} {}", lid.value, name);
}

class Overlay {
 public:
  Overlay(Fabric&& base, const std::string& name) : name_(name), draft_(std::move(base), name) {
    for (std::uint32_t i = 0; i < draft_.fabric.nodes.size(); ++i) {
      const FabricNode& node = draft_.fabric.nodes[i];
      if (!node.description.empty()) by_name_.add(node.description, i);
      for (const FabricPort& port : node.ports) {
        if (!port.lid) continue;
        by_lid_.add(port.lid->value, i);
        if (!node.description.empty()) by_name_and_lid_.add(name_and_lid(node.description, *port.lid), i);
      }
    }
  }

  void lay(const Fabric& more) {
    std::vector<std::optional<std::uint32_t>> matched;
    matched.reserve(more.nodes.size());
    for (const FabricNode& node : more.nodes)
      matched.push_back(match(node));
    for (std::size_t i = 0; i < more.nodes.size(); ++i)
      take_node(more.nodes[i], matched[i]);
    for (std::size_t i = 0; i < more.nodes.size(); ++i) {
      if (matched[i]) take_cables(more, static_cast<std::uint32_t>(i), *matched[i], matched);
    }
  }

  Fabric finish() && { return std::move(draft_).join(); }

 private:
  [[nodiscard]] std::optional<std::uint32_t> match(const FabricNode& node) const {
    if (node.guid.value != 0) {
      if (const auto found = draft_.find_guid(node.guid.value)) return found;
      if (const auto found = draft_.find_port_guid(node.guid.value)) return found;
    }
    for (const FabricPort& port : node.ports) {
      const auto found = port.guid != 0 ? draft_.find_port_guid(port.guid) : std::nullopt;
      if (found) return found;
    }
    for (const FabricPort& port : node.ports) {
      if (!port.lid) continue;
      if (const auto found = by_name_and_lid_.find(name_and_lid(node.description, *port.lid))) return found;
    }
    if (node.guid.value == 0) {  // perfquery knows nothing but a LID
      for (const FabricPort& port : node.ports) {
        const auto found = port.lid ? by_lid_.find(port.lid->value) : std::nullopt;
        if (found) return found;
      }
    }
    return node.description.empty() ? std::nullopt : by_name_.find(node.description);
  }

  void take_node(const FabricNode& node, std::optional<std::uint32_t> index) {
    if (!index) {
      draft_.note(
          "fabric.no-such-node", 0,
          [&] {
            return fmt::format("{} is not in the fabric: what {} says of it is left out",
                               quoted(node.description.empty() ? to_string(node.guid) : node.description),
                               printable(name_));
          },
          "is it of the same fabric and the same day? give both from one scan");
      return;
    }
    FabricNode& mine = draft_.node(*index);
    if (mine.kind == model::FabricNodeKind::kUnknown) mine.kind = node.kind;
    if (mine.description.empty()) mine.description = node.description;
    if (mine.system_guid == 0) mine.system_guid = node.system_guid;
    if (mine.vendor == 0) mine.vendor = node.vendor;
    if (mine.device == 0) mine.device = node.device;
    if (mine.stated_ports == 0) mine.stated_ports = node.stated_ports;
    for (const FabricPort& port : node.ports) {
      if (FabricPort* const own = draft_.port({*index, port.number}, 0)) take_port(port, *own);
    }
  }

  // What the later text knows counts; what it does not know stays.
  static void take_port(const FabricPort& from, FabricPort& to) {
    if (from.state != model::PortState::kUnknown) to.state = from.state;
    if (from.physical_state != model::PortPhysicalState::kUnknown) to.physical_state = from.physical_state;
    if (from.lanes != 0) to.lanes = from.lanes;
    if (from.speed != model::LaneSpeedName::kUnknown) to.speed = from.speed;
    if (from.most_lanes != 0) to.most_lanes = from.most_lanes;
    if (from.most_speed != model::LaneSpeedName::kUnknown) to.most_speed = from.most_speed;
    if (from.enabled_lanes != 0) to.enabled_lanes = from.enabled_lanes;
    if (from.enabled_speed != model::LaneSpeedName::kUnknown) to.enabled_speed = from.enabled_speed;
    if (from.stated_rate) to.stated_rate = from.stated_rate;
    if (to.name.empty()) to.name = from.name;
    if (to.guid == 0) to.guid = from.guid;
    if (!to.lid) to.lid = from.lid;
    if (from.sm_lid) to.sm_lid = from.sm_lid;
    if (from.mtu) to.mtu = from.mtu;
    if (!from.trouble.empty()) to.trouble = from.trouble;
    for (std::size_t i = 0; i < model::kFabricCounters; ++i) {
      const auto counter = static_cast<model::FabricCounter>(i);
      if (const auto value = from.counters.get(counter))
        to.counters.set(counter, *value, from.counters.is_stuck(counter));
    }
  }

  void take_cables(const Fabric& more, std::uint32_t from, std::uint32_t index,
                   const std::vector<std::optional<std::uint32_t>>& matched) {
    const std::vector<FabricPort>& ports = more.nodes[from].ports;
    for (std::uint32_t p = 0; p < ports.size(); ++p) {
      const auto peer = ports[p].peer;
      if (!peer || *peer < model::PortRef{from, p}) continue;  // once a cable
      const auto other = matched[peer->node];
      if (other) draft_.link({index, ports[p].number}, {*other, port_at(more, *peer).number}, 0);
    }
  }

  std::string name_;
  FabricDraft draft_;
  Index<std::string> by_name_;
  Index<std::uint16_t> by_lid_;
  Index<std::string> by_name_and_lid_;
};

}  // namespace

Fabric lay_over(Fabric base, Fabric more, const std::string& name) {
  Overlay overlay(std::move(base), name);
  overlay.lay(more);
  Fabric whole = std::move(overlay).finish();
  if (!more.origin.empty() && more.origin != whole.origin) whole.origin += "; " + more.origin;
  for (model::Note& note : more.notes) {
    if (note.id != "fabric.no-cables") whole.notes.push_back(std::move(note));
  }
  return whole;
}

}  // namespace angio::import::fabric
