// Who is who: GUIDs and LIDs that stand twice, names that name nobody, nodes that did not answer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "fabric/rules.hpp"

namespace angio::fabric {

using model::FabricNode;
using model::FabricNodeKind;
using model::FabricPort;
using model::PortRef;

namespace {

// Unicast LIDs are 1 to 0xbfff (InfiniBand Architecture Specification 1.4, 4.1.3).
constexpr std::uint32_t kLastUnicastLid = 0xbfff;

bool is_infiniband(const Case& look) {
  return look.layout.fabric->kind == model::FabricKind::kInfiniBand;
}

FabricDraft about_nodes(const Layout& layout, std::vector<std::uint32_t> nodes, std::string title) {
  FabricDraft found;
  found.subject = subject_of(layout, nodes.front());
  found.draft.title = std::move(title);
  for (const std::uint32_t n : nodes) {
    if (found.draft.evidence.size() == kMostListed) {
      found.draft.evidence.push_back(seen(layout, fmt::format("and {} more", nodes.size() - kMostListed)));
      break;
    }
    const auto cables = layout.cables_at(n);
    std::string text = fmt::format("{} (GUID {}, system image GUID 0x{:016x})", name_of_node(layout.node(n)),
                                   model::to_string(layout.node(n).guid), layout.node(n).system_guid);
    if (!cables.empty())
      text += " on " + name_of_port(*layout.fabric, layout.far_end(layout.cables[cables.front()], n));
    found.draft.evidence.push_back(seen(layout, std::move(text)));
  }
  found.draft.devices = {name_of_node(layout.node(nodes.front()))};
  found.nodes = std::move(nodes);
  return found;
}

void guid_duplicate(const Case& look, FabricOutcome& outcome) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> guids;
  for (std::uint32_t n = 0; n < look.layout.fabric->nodes.size(); ++n)
    if (look.layout.node(n).guid.value != 0) guids.emplace_back(look.layout.node(n).guid.value, n);
  std::ranges::sort(guids);
  for (std::size_t start = 0; start < guids.size();) {
    std::vector<std::uint32_t> nodes;
    std::size_t end = start;
    for (; end < guids.size() && guids[end].first == guids[start].first; ++end)
      nodes.push_back(guids[end].second);
    if (nodes.size() > 1)
      outcome.fire(about_nodes(
          look.layout, std::move(nodes),
          fmt::format("{} carry the GUID 0x{:016x}", count_of(end - start, "node"), guids[start].first)));
    start = end;
  }
  if (guids.empty()) outcome.undecided("the GUIDs of the nodes", kScan);
}

void name_shared(const Case& look, FabricOutcome& outcome) {
  for (const auto& nodes : look.layout.shared_names)
    outcome.fire(about_nodes(
        look.layout, nodes,
        fmt::format("{} of different cards call themselves \"{}\"", count_of(nodes.size(), "adapter"),
                    name_of_node(look.layout.node(nodes.front())))));
  const bool any =
      std::ranges::any_of(look.layout.names, [](const AdapterName& name) { return !name.host.empty(); });
  if (look.layout.hosts.empty()) return outcome.not_applicable();
  if (!any)
    outcome.undecided("names of the adapters: no node description names a host",
                      "rdma-ndd on the hosts sets them");
}

void unnamed(const Case& look, FabricOutcome& outcome) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < look.layout.names.size(); ++n)
    if (look.layout.is_host_adapter(n) && look.layout.names[n].host.empty()) nodes.push_back(n);
  if (look.layout.hosts.empty()) return outcome.not_applicable();
  if (nodes.empty()) return;
  FabricDraft found = about_nodes(
      look.layout, nodes,
      fmt::format("{} not name a host",
                  nodes.size() == 1 ? std::string("The node description of 1 adapter does")
                                    : fmt::format("The node descriptions of {} adapters do", nodes.size())));
  found.subject = "fabric";
  outcome.fire(std::move(found));
}

// "leaf-5 port 1: the node behind it gives no answer …": the words of the scan, for it knows who was silent.
std::string port_trouble(const Layout& layout, const std::vector<PortRef>& ports) {
  const std::string& first = layout.port(ports.front()).trouble;
  const bool alike =
      std::ranges::all_of(ports, [&](PortRef ref) { return layout.port(ref).trouble == first; });
  const std::string who = ports.size() == 1 ? name_of_port(*layout.fabric, ports.front())
                                            : fmt::format("{} of {}", count_of(ports.size(), "port"),
                                                          name_of_node(layout.node(ports.front().node)));
  return who + ": " + (alike ? printable(first) : "not all that was asked was answered");
}

void no_answer(const Case& look, FabricOutcome& outcome) {
  for (std::uint32_t n = 0; n < look.layout.fabric->nodes.size(); ++n) {
    const FabricNode& node = look.layout.node(n);
    std::vector<PortRef> ports;
    for (std::uint32_t p = 0; p < node.ports.size(); ++p)
      if (!node.ports[p].trouble.empty()) ports.push_back({n, p});
    if (node.trouble.empty() && ports.empty()) continue;
    FabricDraft found =
        about_nodes(look.layout, {n},
                    node.trouble.empty() ? port_trouble(look.layout, ports)
                                         : name_of_node(node) + ": " + printable(node.trouble));
    if (node.trouble.empty()) found.nodes.clear();  // its other ports and their hosts are well
    for (std::size_t i = 0; i < std::min(ports.size(), kMostListed); ++i)
      found.draft.evidence.push_back(seen(look.layout, name_of_port(*look.layout.fabric, ports[i]) + ": " +
                                                           printable(look.layout.port(ports[i]).trouble)));
    found.ports = std::move(ports);
    outcome.fire(std::move(found));
  }
}

// What a manager numbers: switches that are cabled to each other and the ports at them. An adapter with a
// port in each of two subnets joins them to one plane, and its LIDs are of two.
class Subnets {
 public:
  explicit Subnets(const Layout& layout) : layout_(layout), root_(layout.level_of.size()) {
    std::iota(root_.begin(), root_.end(), 0U);
    for (const Cable& cable : layout.cables)
      if (forwards(cable.a.node) && forwards(cable.b.node))
        root_[std::max(find(cable.a.node), find(cable.b.node))] =
            std::min(find(cable.a.node), find(cable.b.node));
  }

  // A switch's, or of what the port is cabled to.
  std::uint32_t of(PortRef ref) {
    const auto& peer = layout_.port(ref).peer;
    if (forwards(ref.node) || !peer || peer->node >= root_.size()) return find(ref.node);
    return forwards(peer->node) ? find(peer->node) : std::min(ref.node, peer->node);
  }

 private:
  [[nodiscard]] bool forwards(std::uint32_t node) const {
    return layout_.node(node).kind == FabricNodeKind::kSwitch;
  }
  std::uint32_t find(std::uint32_t node) {
    while (root_[node] != node)
      node = root_[node] = root_[root_[node]];
    return node;
  }

  const Layout& layout_;
  std::vector<std::uint32_t> root_;
};

struct LidOwner {
  std::uint32_t subnet;
  std::uint32_t lid;
  PortRef ref;
  auto operator<=>(const LidOwner&) const = default;
};

// A switch has one LID, whichever of its ports a text prints it at; an adapter has one a port.
std::vector<LidOwner> lids_of(const Layout& layout) {
  std::vector<LidOwner> owners;
  Subnets subnets(layout);
  for (std::uint32_t n = 0; n < layout.fabric->nodes.size(); ++n) {
    const auto& ports = layout.node(n).ports;
    for (std::uint32_t p = 0; p < ports.size(); ++p) {
      if (!ports[p].lid || ports[p].lid->value == 0) continue;
      owners.push_back({subnets.of({n, p}), ports[p].lid->value, {n, p}});
      if (layout.is_switch(n)) break;
    }
  }
  std::ranges::sort(owners);
  return owners;
}

void lid_duplicate(const Case& look, FabricOutcome& outcome) {
  if (!is_infiniband(look)) return outcome.not_applicable();
  const auto owners = lids_of(look.layout);
  for (std::size_t start = 0; start < owners.size();) {
    std::size_t end = start;
    while (end < owners.size() && owners[end].subnet == owners[start].subnet &&
           owners[end].lid == owners[start].lid)
      ++end;
    if (end - start > 1) {
      FabricDraft found;
      found.subject = subject_of(look.layout, owners[start].ref.node);
      found.draft.title =
          fmt::format("LID {} belongs to {}", owners[start].lid, count_of(end - start, "port"));
      for (std::size_t i = start; i < end; ++i) {
        found.ports.push_back(owners[i].ref);
        if (i - start < kMostListed)
          found.draft.evidence.push_back(seen(look.layout, end_words(look.layout, owners[i].ref)));
      }
      found.draft.devices = {name_of_port(*look.layout.fabric, owners[start].ref)};
      outcome.fire(std::move(found));
    }
    start = end;
  }
  if (owners.empty()) outcome.undecided("the LIDs of the ports", kScan);
}

void lid_invalid(const Case& look, FabricOutcome& outcome) {
  if (!is_infiniband(look)) return outcome.not_applicable();
  if (lids_of(look.layout).empty()) return outcome.undecided("the LIDs of the ports", kScan);
  for (std::uint32_t n = 0; n < look.layout.fabric->nodes.size(); ++n) {
    const auto& ports = look.layout.node(n).ports;
    for (std::uint32_t p = 0; p < ports.size(); ++p) {
      const FabricPort& port = ports[p];
      const bool has_own =
          look.layout.is_switch(n) ? port.number == 0 : port.state == model::PortState::kActive;
      if (!has_own || !port.lid || (port.lid->value != 0 && port.lid->value <= kLastUnicastLid)) continue;
      FabricDraft found;
      found.subject = subject_of(look.layout, n);
      found.draft.title = fmt::format("{} is active with LID {}, which no port can have",
                                      name_of_port(*look.layout.fabric, {n, p}), port.lid->value);
      found.draft.evidence.push_back(seen(look.layout, end_words(look.layout, {n, p})));
      found.draft.devices = {name_of_port(*look.layout.fabric, {n, p})};
      found.ports = {{n, p}};
      outcome.fire(std::move(found));
    }
  }
}

}  // namespace

std::span<const Rule> identity_rules() {
  static constexpr std::array kRules = {
      Rule{"fabric.node.guid-duplicate", guid_duplicate},
      Rule{"fabric.node.name-shared", name_shared},
      Rule{"fabric.node.unnamed", unnamed},
      Rule{"fabric.node.no-answer", no_answer},
      Rule{"fabric.lid.duplicate", lid_duplicate},
      Rule{"fabric.lid.invalid", lid_invalid},
  };
  return kRules;
}

}  // namespace angio::fabric
