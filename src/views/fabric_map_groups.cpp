#include "views/fabric_map_groups.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "views/fabric_words.hpp"

namespace angio::views {
namespace {

using model::FabricNodeKind;
using model::PlaneRole;
using model::PortRef;

constexpr std::uint32_t kMostLevels = 8;  // a fabric that says more is no tree
constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Sets of numbers that grow together.
class Unions {
 public:
  explicit Unions(std::size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), std::uint32_t{0});
  }
  std::uint32_t find(std::uint32_t one) {
    while (parents_[one] != one)
      one = parents_[one] = parents_[parents_[one]];
    return one;
  }
  void join(std::uint32_t a, std::uint32_t b) { parents_[find(a)] = find(b); }

 private:
  std::vector<std::uint32_t> parents_;
};

bool is_switch(const model::FabricNode& node) {
  return node.kind == FabricNodeKind::kSwitch || node.kind == FabricNodeKind::kRouter ||
         node.kind == FabricNodeKind::kSubnet;
}

class Sections {
 public:
  Sections(const model::Fabric& fabric, const model::FabricReport& report, const FabricMarks& marks)
      : fabric_(fabric), report_(report), marks_(marks) {}

  std::vector<MapSection> make() {
    find_sections();
    find_levels();
    find_names();
    find_rails();
    for (std::uint32_t host = 0; host < report_.hosts.size(); ++host)
      add_host(host);
    std::vector<MapSection> sections;
    for (std::size_t at = 0; at < kSections; ++at)
      if (MapSection section = make_section(at); !section.groups.empty() || !section.levels.empty())
        sections.push_back(std::move(section));
    if (sections.size() == 1) sections.front().title.clear();
    return sections;
  }

 private:
  static constexpr std::size_t kSections = 3;
  struct Attached {
    std::uint32_t host = 0;
    std::uint32_t adapter = 0;
    std::uint32_t port = 0;
  };

  void find_sections() {
    section_of_.assign(fabric_.nodes.size(), 0);
    for (const model::FabricPlane& plane : report_.facts.planes) {
      const std::uint8_t section = plane.role == PlaneRole::kStorage      ? 1
                                   : plane.role == PlaneRole::kManagement ? 2
                                                                          : 0;
      for (const std::uint32_t node : plane.nodes)
        if (node < section_of_.size()) section_of_[node] = section;
    }
  }

  void find_levels() {
    const std::vector<std::uint32_t>& levels = report_.facts.level_of;
    level_.assign(fabric_.nodes.size(), 1);
    for (std::size_t node = 0; node < level_.size() && node < levels.size(); ++node)
      level_[node] = std::clamp(levels[node], std::uint32_t{1}, kMostLevels);
    for (std::size_t node = 0; node < level_.size(); ++node)
      if (fabric_.nodes[node].kind == FabricNodeKind::kRouter) level_[node] = above_peers(node);
  }

  // A router has no level of its own: it is drawn above what it hangs off.
  [[nodiscard]] std::uint32_t above_peers(std::size_t router) const {
    std::uint32_t level = 1;
    for (const model::FabricPort& port : fabric_.nodes[router].ports)
      if (port.peer && port.peer->node < level_.size()) level = std::max(level, level_[port.peer->node]);
    return std::min(level + 1, kMostLevels);
  }

  void find_names() {
    for (const model::FabricNode& node : fabric_.nodes)
      names_.push_back(is_switch(node) ? short_name(node) : std::string());
  }

  void find_rails() {
    rail_of_.assign(fabric_.nodes.size(), kNone);
    for (const model::FabricRail& rail : report_.facts.rails)
      for (const std::uint32_t leaf : rail.leaves)
        if (leaf < rail_of_.size()) rail_of_[leaf] = rail.number;
    attached_.resize(fabric_.nodes.size());
  }

  void add_host(std::uint32_t host) {
    for (const std::uint32_t adapter : report_.hosts[host].adapters) {
      if (adapter >= fabric_.nodes.size()) continue;
      const model::FabricNode& node = fabric_.nodes[adapter];
      bool connected = false;
      for (std::uint32_t port = 0; port < node.ports.size(); ++port) {
        const auto& peer = node.ports[port].peer;
        if (!peer || !is_switch(fabric_.nodes[peer->node])) continue;
        attached_[peer->node].push_back({host, adapter, port});
        connected = true;
      }
      if (!connected) loose_.at(section_of_[adapter]).push_back({host, adapter, loose_port(node)});
    }
  }

  // The one with a cable, to another adapter then; else the first.
  static std::uint32_t loose_port(const model::FabricNode& node) {
    const auto cabled =
        std::ranges::find_if(node.ports, [](const auto& port) { return port.peer.has_value(); });
    if (cabled != node.ports.end()) return static_cast<std::uint32_t>(cabled - node.ports.begin());
    return node.ports.empty() ? kNone : 0;
  }

  MapSection make_section(std::size_t at) {
    constexpr std::array<const char*, kSections> kTitles = {"compute", "storage", "management"};
    MapSection section;
    section.title = kTitles.at(at);
    std::vector<std::uint32_t> leaves;
    for (std::uint32_t node = 0; node < fabric_.nodes.size(); ++node) {
      if (section_of_[node] != at || !is_switch(fabric_.nodes[node])) continue;
      if (level_[node] == 1 || !attached_[node].empty()) {
        leaves.push_back(node);
      } else {
        if (section.levels.size() + 2 <= level_[node]) section.levels.resize(level_[node] - 1);
        section.levels[level_[node] - 2].push_back(node);
      }
      add_trunks(node, section);
    }
    std::erase_if(section.levels, [](const auto& level) { return level.empty(); });
    for (auto& level : section.levels)
      sort_by_name(level);
    add_groups(leaves, section);
    add_loose(at, section);
    return section;
  }

  void sort_by_name(std::vector<std::uint32_t>& switches) const {
    std::ranges::sort(switches, [&](std::uint32_t a, std::uint32_t b) {
      if (names_[a] != names_[b]) return natural_less(names_[a], names_[b]);
      return a < b;
    });
  }

  // Each cable once, from the lower level up.
  void add_trunks(std::uint32_t node, MapSection& section) {
    std::map<std::uint32_t, std::size_t> place;
    const model::FabricNode& from = fabric_.nodes[node];
    for (std::uint32_t p = 0; p < from.ports.size(); ++p) {
      const model::FabricPort& port = from.ports[p];
      if (!port.peer || !is_switch(fabric_.nodes[port.peer->node])) continue;
      const std::uint32_t other = port.peer->node;
      if (std::pair(level_[node], node) > std::pair(level_[other], other) || node == other) continue;
      const auto [found, is_new] = place.try_emplace(other, section.trunks.size());
      if (is_new) section.trunks.push_back({node, other, 0, 0, 0, {}, {node, p}});
      add_link({node, p}, section.trunks[found->second]);
    }
  }

  void add_link(PortRef ref, MapTrunk& trunk) const {
    ++trunk.links;
    const auto rate = rate_of(model::port_at(fabric_, ref));
    trunk.bits_per_second += rate ? rate->value : 0;
    if (marks_.is_degraded(ref)) ++trunk.degraded;
    const Mark mark = marks_.link(ref);
    if (mark.level > trunk.mark.level) {
      trunk.mark = mark;
      trunk.worst = ref;
    }
  }

  void add_groups(const std::vector<std::uint32_t>& leaves, MapSection& section) {
    std::map<std::uint32_t, std::uint32_t> first_leaf;  // of each host
    Unions unions(fabric_.nodes.size());
    for (const std::uint32_t leaf : leaves) {
      for (const Attached& one : attached_[leaf]) {
        const auto [first, is_new] = first_leaf.try_emplace(one.host, leaf);
        if (!is_new) unions.join(leaf, first->second);
      }
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> joined;
    for (const std::uint32_t leaf : leaves)
      joined[unions.find(leaf)].push_back(leaf);
    for (auto& [root, members] : joined) {
      sort_leaves(members);
      MapGroup group = make_group(members);
      if (is_worth_a_grid(group)) {
        section.groups.push_back(std::move(group));
      } else {
        for (const std::uint32_t leaf : members)
          section.groups.push_back(make_group({leaf}));
      }
    }
    std::ranges::sort(section.groups, [&](const MapGroup& a, const MapGroup& b) {
      const std::string& first = names_[a.leaves.front()];
      const std::string& second = names_[b.leaves.front()];
      return first != second ? natural_less(first, second) : a.leaves.front() < b.leaves.front();
    });
  }

  void sort_leaves(std::vector<std::uint32_t>& leaves) const {
    std::ranges::sort(leaves, [&](std::uint32_t a, std::uint32_t b) {
      if (rail_of_[a] != rail_of_[b]) return rail_of_[a] < rail_of_[b];
      if (names_[a] != names_[b]) return natural_less(names_[a], names_[b]);
      return a < b;
    });
  }

  // Hosts against leaves is a grid only where most places are taken.
  static bool is_worth_a_grid(const MapGroup& group) {
    constexpr std::size_t kSmall = 64;
    const std::size_t places = group.hosts.size() * group.leaves.size();
    return group.leaves.size() == 1 || places <= kSmall || group.cells.size() * 4 >= places;
  }

  MapGroup make_group(const std::vector<std::uint32_t>& leaves) const {
    std::vector<Attached> all;
    std::vector<std::uint32_t> leaf_of;
    for (std::uint32_t at = 0; at < leaves.size(); ++at) {
      all.insert(all.end(), attached_[leaves[at]].begin(), attached_[leaves[at]].end());
      leaf_of.resize(all.size(), at);
    }
    MapGroup group = make_cells(all, leaf_of, leaves.size());
    group.leaves = leaves;
    return group;
  }

  MapGroup make_cells(const std::vector<Attached>& all, const std::vector<std::uint32_t>& leaf_of,
                      std::size_t leaves) const {
    MapGroup group;
    for (const Attached& one : all)
      group.hosts.push_back(one.host);
    std::ranges::sort(group.hosts);
    const auto rest = std::ranges::unique(group.hosts);
    group.hosts.erase(rest.begin(), rest.end());
    std::ranges::sort(group.hosts, [&](std::uint32_t a, std::uint32_t b) {
      const std::string& first = report_.hosts[a].name;
      const std::string& second = report_.hosts[b].name;
      return first != second ? natural_less(first, second) : a < b;
    });
    std::map<std::uint32_t, std::uint32_t> row_of;
    for (std::uint32_t row = 0; row < group.hosts.size(); ++row)
      row_of[group.hosts[row]] = row;
    group.lanes.assign(std::max<std::size_t>(leaves, 1), 1);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> used;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint32_t row = row_of[all[i].host];
      const std::uint32_t lane = used[{leaf_of[i], row}]++;
      group.lanes[leaf_of[i]] = std::max(group.lanes[leaf_of[i]], lane + 1);
      const auto port = all[i].port == kNone ? std::nullopt : std::optional(all[i].port);
      group.cells.push_back({row, leaf_of[i], lane, all[i].adapter, port});
    }
    std::ranges::sort(group.cells, {},
                      [](const MapCell& cell) { return std::tuple(cell.leaf, cell.lane, cell.host); });
    return group;
  }

  void add_loose(std::size_t at, MapSection& section) {
    if (loose_.at(at).empty()) return;
    const std::vector<std::uint32_t> leaf_of(loose_.at(at).size(), 0);
    section.groups.push_back(make_cells(loose_.at(at), leaf_of, 0));
  }

  const model::Fabric& fabric_;
  const model::FabricReport& report_;
  const FabricMarks& marks_;
  std::vector<std::uint8_t> section_of_;
  std::vector<std::uint32_t> level_;
  std::vector<std::string> names_;  // of switches
  std::vector<std::uint32_t> rail_of_;
  std::vector<std::vector<Attached>> attached_;         // by switch
  std::array<std::vector<Attached>, kSections> loose_;  // hosts' adapters that no switch reaches
};

}  // namespace

std::vector<MapSection> map_sections(const model::Fabric& fabric, const model::FabricReport& report,
                                     const FabricMarks& marks) {
  return Sections(fabric, report, marks).make();
}

}  // namespace angio::views
