// Switches and cables without which hosts lose each other. Hosts do not forward, so only the graph of
// switches counts. A leaf whose own hosts are lost with it is no finding: that is how hosts are cabled.
#include <algorithm>

#include "fabric/facts.hpp"

namespace angio::fabric {

using model::SinglePoint;

namespace {

struct Edge {
  std::uint32_t to;
  std::uint32_t cable;
};

class CutFinder {
 public:
  explicit CutFinder(const Layout& layout)
      : layout_(layout), order_(layout.level_of.size()), low_(order_.size()) {
    edges_.resize(order_.size());
    for (std::uint32_t c = 0; c < layout.cables.size(); ++c) {
      const std::uint32_t a = layout.cables[c].a.node;
      const std::uint32_t b = layout.cables[c].b.node;
      if (a == b || !layout.is_switch(a) || !layout.is_switch(b)) continue;
      edges_[a].push_back({b, c});
      edges_[b].push_back({a, c});
    }
  }

  std::vector<SinglePoint> find() {
    for (std::uint32_t n = 0; n < order_.size(); ++n)
      if (layout_.is_switch(n) && order_[n] == 0) walk(n);
    std::vector<SinglePoint> points;
    if (switches_.empty() && cables_.empty()) return points;
    for (const model::FabricHost& host : layout_.hosts) {
      std::vector<std::uint32_t>& leaves = host_leaves_.emplace_back();
      for (const std::uint32_t adapter : host.adapters)
        for (const std::uint32_t leaf : leaves_of(layout_, adapter))
          if (std::ranges::find(leaves, leaf) == leaves.end()) leaves.push_back(leaf);
    }
    // Each point is weighed by a walk of its own: a chain of thousands of switches ends at this many.
    constexpr std::size_t kMostPoints = 64;
    for (std::size_t i = 0; i < std::min(switches_.size(), kMostPoints); ++i)
      if (const std::uint32_t cut = hosts_cut(switches_[i], kNone); cut > 0)
        points.push_back({switches_[i], std::nullopt, cut});
    for (std::size_t i = 0; i < std::min(cables_.size(), kMostPoints); ++i)
      if (const std::uint32_t cut = hosts_cut(kNone, cables_[i]); cut > 0)
        points.push_back({std::nullopt, layout_.cables[cables_[i]].a, cut});
    std::ranges::stable_sort(points, [](const auto& a, const auto& b) { return a.hosts_cut > b.hosts_cut; });
    return points;
  }

 private:
  struct Step {
    std::uint32_t node;
    std::uint32_t by;  // the cable that led here
    std::size_t next = 0;
    std::uint32_t children = 0;
    bool cuts = false;
  };

  // Depth first without recursion: a chain of switches may be long. Tarjan 1974.
  void walk(std::uint32_t root) {
    std::vector<Step> stack{{root, kNone}};
    order_[root] = low_[root] = ++count_;
    while (!stack.empty()) {
      Step& step = stack.back();
      if (step.next < edges_[step.node].size()) {
        const Edge edge = edges_[step.node][step.next++];
        if (edge.cable == step.by) continue;
        if (order_[edge.to] != 0) {
          low_[step.node] = std::min(low_[step.node], order_[edge.to]);
          continue;
        }
        order_[edge.to] = low_[edge.to] = ++count_;
        ++step.children;
        stack.push_back({edge.to, edge.cable});
        continue;
      }
      const Step done = step;
      stack.pop_back();
      if (stack.empty() ? done.children > 1 : done.cuts) switches_.push_back(done.node);
      if (stack.empty()) continue;
      Step& parent = stack.back();
      low_[parent.node] = std::min(low_[parent.node], low_[done.node]);
      if (low_[done.node] >= order_[parent.node]) parent.cuts = true;
      if (low_[done.node] > order_[parent.node]) cables_.push_back(done.by);
    }
  }

  // Hosts that no longer reach the largest group once the switch or cable is gone; those that hang off the
  // switch alone are left out.
  std::uint32_t hosts_cut(std::uint32_t without, std::uint32_t without_cable) {
    std::vector<std::uint32_t> part(order_.size(), kNone);
    std::uint32_t parts = 0;
    for (std::uint32_t n = 0; n < part.size(); ++n)
      if (layout_.is_switch(n) && n != without && part[n] == kNone)
        spread(n, without, without_cable, parts++, part);
    std::vector<std::uint32_t> hosts(parts);
    std::uint32_t attached = 0;
    const std::uint32_t point = without != kNone ? without : layout_.cables[without_cable].a.node;
    std::vector<std::uint32_t> reach;
    for (const auto& leaves : host_leaves_) {
      reach.clear();
      for (const std::uint32_t leaf : leaves)
        if (layout_.plane_of[leaf] == layout_.plane_of[point] && leaf != without &&
            std::ranges::find(reach, part[leaf]) == reach.end())
          reach.push_back(part[leaf]);
      if (reach.empty()) continue;
      ++attached;
      for (const std::uint32_t p : reach)
        ++hosts[p];
    }
    const std::uint32_t most = hosts.empty() ? 0 : *std::ranges::max_element(hosts);
    return most == 0 ? 0 : attached - most;
  }

  void spread(std::uint32_t from, std::uint32_t without, std::uint32_t without_cable, std::uint32_t number,
              std::vector<std::uint32_t>& part) {
    std::vector<std::uint32_t> queue{from};
    part[from] = number;
    for (std::size_t at = 0; at < queue.size(); ++at)
      for (const Edge& edge : edges_[queue[at]]) {
        if (edge.to == without || edge.cable == without_cable || part[edge.to] != kNone) continue;
        part[edge.to] = number;
        queue.push_back(edge.to);
      }
  }

  const Layout& layout_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::uint32_t> order_, low_;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> switches_, cables_;
  std::vector<std::vector<std::uint32_t>> host_leaves_;
};

}  // namespace

std::vector<SinglePoint> find_single_points(const Layout& layout) {
  return CutFinder(layout).find();
}

}  // namespace angio::fabric
