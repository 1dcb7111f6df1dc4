// Scans of several ports or planes as one fabric.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.hpp"
#include "fabric/delta.hpp"
#include "fabric/fabric.hpp"

namespace angio::fabric {

using model::Fabric;
using model::FabricNode;
using model::FabricPort;
using model::PortRef;

namespace {

// What the later scan knows replaces what the earlier one said; what it does not know stays.
void lay_over(FabricPort& port, FabricPort& later) {
  if (!later.name.empty()) port.name = std::move(later.name);
  if (later.state != model::PortState::kUnknown) port.state = later.state;
  if (later.physical_state != model::PortPhysicalState::kUnknown) port.physical_state = later.physical_state;
  if (later.lanes != 0) port.lanes = later.lanes;
  if (later.speed != model::LaneSpeedName::kUnknown) port.speed = later.speed;
  if (later.most_lanes != 0) port.most_lanes = later.most_lanes;
  if (later.most_speed != model::LaneSpeedName::kUnknown) port.most_speed = later.most_speed;
  if (later.enabled_lanes != 0) port.enabled_lanes = later.enabled_lanes;
  if (later.enabled_speed != model::LaneSpeedName::kUnknown) port.enabled_speed = later.enabled_speed;
  if (later.stated_rate) port.stated_rate = later.stated_rate;
  if (later.guid != 0) port.guid = later.guid;
  if (later.lid) port.lid = later.lid;
  if (later.sm_lid) port.sm_lid = later.sm_lid;
  if (later.mtu) port.mtu = later.mtu;
  if (!later.counters.empty()) port.counters = later.counters;
  port.trouble = std::move(later.trouble);  // an answer now ends the trouble of before
}

void lay_over(FabricNode& node, FabricNode& later) {
  if (later.kind != model::FabricNodeKind::kUnknown) node.kind = later.kind;
  if (later.system_guid != 0) node.system_guid = later.system_guid;
  if (!later.description.empty()) node.description = std::move(later.description);
  if (later.vendor != 0) node.vendor = later.vendor;
  if (later.device != 0) node.device = later.device;
  if (later.revision != 0) node.revision = later.revision;
  node.stated_ports = std::max(node.stated_ports, later.stated_ports);
  node.trouble = std::move(later.trouble);
}

class Merger {
 public:
  Fabric run(std::vector<Fabric> scans) {
    std::ranges::stable_sort(scans, {}, [](const Fabric& scan) {
      return scan.captured ? parse_instant(*scan.captured).value_or(0) : 0;
    });
    all_.kind = scans.front().kind;
    std::vector<std::string> names;
    std::vector<std::string> origins;
    for (Fabric& scan : scans) {
      if (scan.kind != all_.kind) {
        all_.notes.push_back({"fabric.merge.kind",
                              fmt::format("{} is of another kind of network: left out", printable(scan.name)),
                              1, "look at InfiniBand and Ethernet separately"});
        continue;
      }
      names.push_back(scan.name);
      origins.push_back(scan.origin);
      take(scan);
    }
    all_.name = join(names, " + ");
    all_.origin = join(origins, "; ");
    join_cables();
    return std::move(all_);
  }

 private:
  void take(Fabric& scan) {
    if (scan.captured) all_.captured = scan.captured;
    all_.seen_from.insert(all_.seen_from.end(), scan.seen_from.begin(), scan.seen_from.end());
    all_.notes.insert(all_.notes.end(), scan.notes.begin(), scan.notes.end());
    std::unordered_map<std::uint64_t, std::uint32_t> met;  // how often a GUID stood in this scan
    std::vector<std::uint32_t> index(scan.nodes.size());
    for (std::uint32_t n = 0; n < scan.nodes.size(); ++n) {
      const std::uint64_t guid = scan.nodes[n].guid.value;
      const std::uint32_t occurrence = met[guid]++;
      auto& known = nodes_[guid];
      if (guid == 0 || occurrence >= known.size()) {
        known.push_back(static_cast<std::uint32_t>(all_.nodes.size()));
        all_.nodes.emplace_back();
        all_.nodes.back().guid = scan.nodes[n].guid;
      }
      index[n] = guid == 0 ? known.back() : known[occurrence];
    }
    for (std::uint32_t n = 0; n < scan.nodes.size(); ++n) {
      for (const FabricPort& port : scan.nodes[n].ports)
        if (port.peer && port.peer->node < scan.nodes.size() &&
            port.peer->port < scan.nodes[port.peer->node].ports.size())
          cables_.push_back({index[n], port.number, index[port.peer->node],
                             scan.nodes[port.peer->node].ports[port.peer->port].number});
    }
    for (std::uint32_t n = 0; n < scan.nodes.size(); ++n)
      take(scan.nodes[n], all_.nodes[index[n]]);
  }

  static void take(FabricNode& from, FabricNode& into) {
    const bool is_new = into.ports.empty() && into.description.empty();
    for (FabricPort& port : from.ports)
      port.peer.reset();
    if (is_new) {
      into = std::move(from);
      return;
    }
    lay_over(into, from);
    for (FabricPort& port : from.ports) {
      const auto place = std::ranges::lower_bound(into.ports, port.number, {}, &FabricPort::number);
      if (place != into.ports.end() && place->number == port.number)
        lay_over(*place, port);
      else
        into.ports.insert(place, std::move(port));
    }
  }

  void join_cables() {
    std::uint32_t refused = 0;
    std::string example;
    for (auto cable = cables_.rbegin(); cable != cables_.rend(); ++cable) {  // the later scan's cables first
      const auto a = find(cable->from, cable->from_port);
      const auto b = find(cable->to, cable->to_port);
      if (!a || !b || model::connect(all_, *a, *b)) continue;
      ++refused;
      if (example.empty())
        example = printable(model::describe(all_, *a) + " to " + model::describe(all_, *b));
    }
    if (refused > 0)
      all_.notes.push_back({"fabric.merge.cable",
                            "the scans disagree on a cable, the later one stands: " + example, refused, ""});
  }

  [[nodiscard]] std::optional<PortRef> find(std::uint32_t node, std::uint32_t number) const {
    const FabricPort* port = model::find_port(all_.nodes[node], number);
    if (port == nullptr) return std::nullopt;
    return PortRef{node, static_cast<std::uint32_t>(port - all_.nodes[node].ports.data())};
  }

  struct NumberedCable {
    std::uint32_t from, from_port, to, to_port;
  };
  Fabric all_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> nodes_;
  std::vector<NumberedCable> cables_;
};

}  // namespace

Fabric merge(std::vector<Fabric> scans) {
  if (scans.empty()) return {};
  if (scans.size() == 1) return std::move(scans.front());
  return Merger().run(std::move(scans));
}

}  // namespace angio::fabric
