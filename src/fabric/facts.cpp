#include "fabric/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/format.hpp"

namespace angio::fabric {

using model::FabricFacts;
using model::FabricLevel;
using model::FabricNode;
using model::FabricNodeKind;
using model::FabricPort;
using model::FabricShape;
using model::PortState;

namespace {

void count_nodes(const Layout& layout, FabricFacts& facts) {
  for (const FabricNode& node : layout.fabric->nodes) {
    if (node.kind == FabricNodeKind::kAdapter) ++facts.adapters;
    if (node.kind == FabricNodeKind::kSwitch) ++facts.switches;
    if (node.kind == FabricNodeKind::kRouter) ++facts.routers;
    if (node.kind == FabricNodeKind::kSubnet) ++facts.subnets;
    if (!node.trouble.empty()) ++facts.without_answer;
    for (const FabricPort& port : node.ports) {
      const bool outside = port.number != 0 || node.kind == FabricNodeKind::kAdapter;  // port 0 has no cable
      if (outside && port.state == PortState::kActive) ++facts.ports_active;
      if (outside && port.state == PortState::kDown) ++facts.ports_down;
      if (!port.counters.empty()) facts.has_counters = true;
    }
  }
}

// The same lanes and speed on thousands of cables: counted as numbers, worded once.
void count_rates(const Layout& layout, FabricFacts& facts) {
  std::unordered_map<std::uint64_t, std::pair<std::uint32_t, const FabricPort*>> kinds;
  for (const Cable& cable : layout.cables) {
    const FabricPort& a = layout.port(cable.a);
    const FabricPort& port = running_rate(a) ? a : layout.port(cable.b);
    const std::uint64_t stated =
        port.stated_rate ? static_cast<std::uint64_t>(std::max(0.0, port.stated_rate->value / 1e6)) : 0;
    const std::uint64_t key =
        (stated << 16U) | (std::uint64_t{port.lanes} << 8U) | static_cast<std::uint64_t>(port.speed);
    auto& [count, sample] = kinds[key];
    ++count;
    sample = &port;
  }
  for (const auto& [key, kind] : kinds)
    facts.link_rates.emplace_back(running_words(*kind.second), kind.first);
  std::ranges::sort(facts.link_rates, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
}

struct SwitchCables {
  std::uint32_t between_levels = 0;
  std::uint32_t in_level = 0;
  std::uint32_t across = 0;  // over more than one level
  std::uint32_t levels = 0;
  std::uint32_t switches = 0;
  std::set<std::uint64_t> boxes;
};

SwitchCables look_at(const Layout& layout, std::uint32_t plane) {
  SwitchCables seen;
  for (std::uint32_t n = 0; n < layout.level_of.size(); ++n) {
    if (layout.plane_of[n] != plane || !layout.is_switch(n) || layout.level_of[n] == 0) continue;
    ++seen.switches;
    seen.levels = std::max(seen.levels, layout.level_of[n]);
    seen.boxes.insert(layout.node(n).system_guid != 0 ? layout.node(n).system_guid
                                                      : layout.node(n).guid.value);
  }
  for (const Cable& cable : layout.cables) {
    if (layout.plane_of[cable.a.node] != plane || !layout.is_switch(cable.a.node) ||
        !layout.is_switch(cable.b.node) || cable.a.node == cable.b.node ||
        layout.level_of[cable.a.node] == 0 || layout.level_of[cable.b.node] == 0)
      continue;  // a router is at level 0
    const std::uint32_t low = std::min(layout.level_of[cable.a.node], layout.level_of[cable.b.node]);
    const std::uint32_t high = std::max(layout.level_of[cable.a.node], layout.level_of[cable.b.node]);
    ++(high == low ? seen.in_level : high == low + 1 ? seen.between_levels : seen.across);
  }
  return seen;
}

constexpr std::uint32_t kMostTreeLevels =
    4;                                   // shape: fat trees are built with two to four levels of switches
constexpr std::uint32_t kOddShare = 20;  // shape: one odd cable in so many does not unmake a tree

void name_shape(const Layout& layout, const Rails& rails, FabricFacts& facts) {
  const std::uint32_t plane = main_plane(layout);
  if (plane == kNone || layout.cables.empty()) {
    facts.shape_why = "no cable between two nodes";
    return;
  }
  if (facts.subnets > 0) {
    facts.shape_why = "subnets of the hosts' addresses; the switches and cables between are not known";
    return;
  }
  const SwitchCables seen = look_at(layout, plane);
  const std::uint32_t odd = seen.in_level + seen.across;
  if (seen.switches == 0) {
    facts.shape = FabricShape::kDirect;
    facts.shape_why = "adapters are cabled to each other without a switch";
  } else if (seen.switches == 1) {
    facts.shape = FabricShape::kSingleSwitch;
    facts.shape_why = "one switch";
  } else if (seen.boxes.size() == 1) {
    facts.shape = FabricShape::kSingleSwitch;
    facts.shape_why = fmt::format("{} chips of one box (the same system image GUID)", seen.switches);
  } else if (odd * kOddShare > odd + seen.between_levels) {
    facts.shape = FabricShape::kIrregular;
    facts.shape_why = seen.across == 0
                          ? fmt::format("{} of {} cables between switches join two of the same level",
                                        seen.in_level, odd + seen.between_levels)
                          : fmt::format("{} of {} cables between switches do not lead one level up", odd,
                                        odd + seen.between_levels);
  } else if (seen.between_levels == 0 && rails.rails.size() < 2) {
    facts.shape = FabricShape::kIrregular;
    facts.shape_why = fmt::format("{} switches, none cabled to another", seen.switches);
  } else if (seen.levels > kMostTreeLevels) {
    facts.shape = FabricShape::kIrregular;
    facts.shape_why = fmt::format("switches up to {} steps away from any adapter", seen.levels);
  } else {
    const bool rail = rails.rails.size() > 1;
    facts.shape = rail ? FabricShape::kRailFatTree : FabricShape::kFatTree;
    facts.shape_why = count_of(seen.levels, "level") + " of switches";
    if (rail)
      facts.shape_why +=
          fmt::format(", adapter k of every host on the leaves of rail k, {} rails", rails.rails.size());
    if (odd > 0) facts.shape_why += fmt::format("; {} do not lead one level up", count_of(odd, "cable"));
  }
}

}  // namespace

std::uint32_t main_plane(const Layout& layout) {
  std::unordered_map<std::uint32_t, std::uint32_t> adapters;
  std::uint32_t best = kNone;
  for (std::uint32_t n = 0; n < layout.plane_of.size(); ++n) {
    const std::uint32_t plane = layout.plane_of[n];
    const std::uint32_t weight = layout.is_host_adapter(n) ? 2 : layout.cables_at(n).empty() ? 0 : 1;
    const std::uint32_t now = adapters[plane] += weight;
    if (best == kNone || now > adapters[best] || (now == adapters[best] && plane < best)) best = plane;
  }
  return best;
}

std::vector<FabricLevel> add_up_levels(const Layout& layout) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, FabricLevel> levels;
  const auto level_at = [&](std::uint32_t n) -> FabricLevel& {
    const std::uint32_t plane = layout.plane_of[n];
    FabricLevel& level = levels[{plane, layout.level_of[n]}];
    level.plane = plane;
    level.level = layout.level_of[n];
    return level;
  };
  for (std::uint32_t n = 0; n < layout.level_of.size(); ++n)
    if (layout.is_switch(n) && layout.level_of[n] > 0) level_at(n).switches.push_back(n);
  for (const Cable& cable : layout.cables) {
    std::uint32_t low = cable.a.node;
    std::uint32_t high = cable.b.node;
    if (layout.level_of[low] > layout.level_of[high]) std::swap(low, high);
    const bool counts = layout.level_of[low] < layout.level_of[high] && layout.service[low] == 0;
    if (!counts || !carries_data(layout.port(cable.a))) continue;
    const BitsPerSecond rate = running_rate(layout, cable).value_or(BitsPerSecond{0});
    FabricLevel& above = level_at(high);
    ++above.links_down;
    above.down = above.down + rate;
    if (!layout.is_switch(low) || layout.level_of[low] == 0) continue;
    FabricLevel& below = level_at(low);
    ++below.links_up;
    below.up = below.up + rate;
  }
  std::vector<FabricLevel> all;
  for (auto& [key, level] : levels) {
    if (level.links_up > 0 && level.links_down > 0 && level.up.value > 0)
      level.oversubscription = level.down / level.up;
    all.push_back(std::move(level));
  }
  return all;
}

FabricFacts make_facts(const Layout& layout, const Rails& rails, std::vector<model::FabricPlane> planes) {
  FabricFacts facts;
  facts.links = static_cast<std::uint32_t>(layout.cables.size());
  count_nodes(layout, facts);
  count_rates(layout, facts);
  facts.level_of = layout.level_of;
  facts.planes = std::move(planes);
  facts.rails = rails.rails;
  name_shape(layout, rails, facts);
  if (facts.subnets > 0) return facts;  // what lies behind a subnet may be one switch or a doubled tree
  facts.levels = add_up_levels(layout);
  facts.single_points = find_single_points(layout);
  return facts;
}

}  // namespace angio::fabric
