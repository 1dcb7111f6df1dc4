// Planes (what can reach each other) and levels (leaves, spines, cores) of a fabric.
#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "fabric/layout.hpp"

namespace angio::fabric {

namespace {

void find_planes(Layout& layout) {
  const std::size_t count = layout.fabric->nodes.size();
  std::vector<std::uint32_t> root(count);
  std::iota(root.begin(), root.end(), 0U);
  const auto find = [&](std::uint32_t n) {
    while (root[n] != n)
      n = root[n] = root[root[n]];
    return n;
  };
  for (const Cable& cable : layout.cables) {
    const std::uint32_t a = find(cable.a.node);
    const std::uint32_t b = find(cable.b.node);
    root[std::max(a, b)] = std::min(a, b);
  }
  layout.plane_of.assign(count, kNone);
  std::uint32_t planes = 0;
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::uint32_t top = find(n);
    if (top == n) layout.plane_of[n] = planes++;
    layout.plane_of[n] = layout.plane_of[top];
  }
}

// Cables of a switch to adapters of hosts, and to other switches.
struct Degrees {
  std::vector<std::uint32_t> hosts;
  std::vector<std::uint32_t> most;  // of any switch of the plane, by plane
};

Degrees count_degrees(const Layout& layout) {
  const std::size_t count = layout.fabric->nodes.size();
  Degrees degrees{std::vector<std::uint32_t>(count), std::vector<std::uint32_t>(count)};
  for (const Cable& cable : layout.cables) {
    if (layout.is_switch(cable.a.node) && layout.is_host_adapter(cable.b.node)) ++degrees.hosts[cable.a.node];
    if (layout.is_switch(cable.b.node) && layout.is_host_adapter(cable.a.node)) ++degrees.hosts[cable.b.node];
  }
  for (std::uint32_t n = 0; n < count; ++n) {
    std::uint32_t& most = degrees.most[layout.plane_of[n]];
    most = std::max(most, degrees.hosts[n]);
  }
  return degrees;
}

// Shape, no judgement: a switch with an eighth of the hosts of the fullest one or fewer is a spine with a
// stray host if most of its cables to switches lead to full leaves; else it is a leaf that is nearly empty.
constexpr std::uint32_t kFewHosts = 8;

bool is_full(const Layout& layout, const Degrees& degrees, std::uint32_t n) {
  return degrees.hosts[n] * kFewHosts > degrees.most[layout.plane_of[n]];
}

bool is_leaf(const Layout& layout, const Degrees& degrees, std::uint32_t n) {
  if (!layout.is_switch(n) || degrees.hosts[n] == 0) return false;
  if (is_full(layout, degrees, n)) return true;
  std::uint32_t to_leaves = 0;
  std::uint32_t to_switches = 0;
  for (const std::uint32_t c : layout.cables_at(n)) {
    const std::uint32_t far = layout.far_end(layout.cables[c], n).node;
    if (!layout.is_switch(far) || far == n) continue;
    ++to_switches;
    if (degrees.hosts[far] > 0 && is_full(layout, degrees, far)) ++to_leaves;
  }
  return to_leaves * 2 <= to_switches;
}

std::vector<std::uint32_t> neighbours_of(const Layout& layout, std::uint32_t n) {
  std::vector<std::uint32_t> nodes;
  for (const std::uint32_t c : layout.cables_at(n))
    if (const std::uint32_t far = layout.far_end(layout.cables[c], n).node; layout.is_switch(far))
      nodes.push_back(far);
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

// A leaf whose hosts are all off, or that has none yet, is met from above. It hangs off the same switches as
// a leaf with hosts does; a core never does, for it reaches into several pods.
void lower_empty_leaves(Layout& layout) {
  std::set<std::vector<std::uint32_t>> leaves;
  std::vector<std::uint32_t> high;
  for (std::uint32_t n = 0; n < layout.level_of.size(); ++n) {
    if (layout.level_of[n] == 1 && layout.is_switch(n)) leaves.insert(neighbours_of(layout, n));
    if (layout.level_of[n] == 3) high.push_back(n);
  }
  for (const std::uint32_t n : high)
    if (leaves.contains(neighbours_of(layout, n))) layout.level_of[n] = 1;
}

}  // namespace

void find_planes_and_levels(Layout& layout) {
  find_planes(layout);
  const Degrees degrees = count_degrees(layout);
  layout.level_of.assign(layout.fabric->nodes.size(), kNone);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t n = 0; n < layout.level_of.size(); ++n) {
    // A router is an end of its subnet, not a level above the switch that it hangs off.
    if (!layout.is_switch(n) || layout.node(n).kind == model::FabricNodeKind::kRouter) layout.level_of[n] = 0;
    if (!is_leaf(layout, degrees, n)) continue;
    layout.level_of[n] = 1;
    queue.push_back(n);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const std::uint32_t c : layout.cables_at(queue[at])) {
      const std::uint32_t far = layout.far_end(layout.cables[c], queue[at]).node;
      if (layout.level_of[far] != kNone) continue;
      layout.level_of[far] = layout.level_of[queue[at]] + 1;
      queue.push_back(far);
    }
  }
  lower_empty_leaves(layout);
  std::ranges::replace(layout.level_of, kNone, 1U);  // switches without any host below them
}

}  // namespace angio::fabric
