// The tree of channel 0: nodes as boxes, parents over their children.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/format.hpp"
#include "views/nccl_rings_sheet.hpp"

namespace angio::views {
namespace {

using namespace sheet;  // NOLINT(google-build-using-namespace): its own sizes
using model::NcclCommunicator;
using report::Tone;

struct TreeNode {
  int up = -1;
  std::vector<std::uint32_t> down;
};

std::map<std::uint32_t, TreeNode> tree_of(const NcclCommunicator& communicator, std::uint32_t channel) {
  std::map<std::uint32_t, TreeNode> tree;
  for (const model::NcclRank& rank : communicator.ranks) {
    for (const model::NcclTree& one : rank.trees) {
      if (one.channel != channel || one.self < 0) continue;
      const auto self = static_cast<std::uint32_t>(one.self);
      if (one.up >= 0) tree[self].up = one.up;
      tree[self];
      if (one.up >= 0) tree[static_cast<std::uint32_t>(one.up)];
      for (const int down : one.down)
        if (down >= 0) tree[static_cast<std::uint32_t>(down)].up = one.self;
    }
  }
  for (auto& [rank, node] : tree) {
    if (node.up < 0) continue;
    const auto parent = tree.find(static_cast<std::uint32_t>(node.up));
    if (parent != tree.end() && parent->first != rank) parent->second.down.push_back(rank);
  }
  return tree;
}

// The ranks of a node that hang together: a chain drawn as one box.
struct Clump {
  std::string host;
  std::vector<std::uint32_t> ranks;  // from the top down
  std::vector<std::size_t> children;
  double x = 0, y = 0;
};

class TreePainter {
 public:
  TreePainter(const std::map<std::uint32_t, TreeNode>& tree, const Hops& hops, Sheet& sheet)
      : tree_(tree), hops_(hops), sheet_(sheet) {}

  double paint(double top) {
    std::vector<std::size_t> roots;
    for (const auto& [rank, node] : tree_)
      if (node.up < 0 && !clump_of_.contains(rank)) roots.push_back(gather(rank));
    double x = kMargin + kLane;
    double bottom = top;
    for (const std::size_t root : roots) {
      x = place(root, x, top) + kGpuGap;
      bottom = std::max(bottom, deepest_);
    }
    for (const auto& [rank, node] : tree_)
      for (const std::uint32_t child : node.down)
        draw(rank, child);
    return bottom;
  }

 private:
  static constexpr double kSmall = 46;
  static constexpr double kSmallGap = 14;
  static constexpr double kTier = kHead + kGpuHeight + kPad + 46;

  // Not recursive over ranks: a chain of any length is a loop; clumps nest only as deep as the tree between
  // nodes.
  std::size_t gather(std::uint32_t head) {
    const std::size_t index = clumps_.size();
    clumps_.push_back({hops_.host(head), {}, {}, 0, 0});
    std::vector<std::uint32_t> todo{head};
    std::vector<std::uint32_t> elsewhere;
    while (!todo.empty()) {
      const std::uint32_t rank = todo.back();
      todo.pop_back();
      if (!clump_of_.emplace(rank, index).second) continue;
      clumps_[index].ranks.push_back(rank);
      const auto node = tree_.find(rank);
      if (node == tree_.end()) continue;
      for (const std::uint32_t child : node->second.down) {
        const bool same = !hops_.host(rank).empty() && hops_.host(child) == hops_.host(rank);
        (same && clumps_[index].ranks.size() < 2 * kWidest ? todo : elsewhere).push_back(child);
      }
    }
    constexpr std::size_t kDeepest = 256;
    if (++depth_ < kDeepest) {
      for (const std::uint32_t child : elsewhere) {
        if (clump_of_.contains(child)) continue;
        const std::size_t below = gather(child);
        clumps_[index].children.push_back(below);
      }
    }
    --depth_;
    return index;
  }

  static double width_of(const Clump& clump) {
    return 2 * kPad + static_cast<double>(clump.ranks.size()) * (kSmall + kSmallGap) - kSmallGap;
  }

  // Children side by side, the parent over their middle; returns the right edge.
  double place(std::size_t index, double x, double y) {
    const double width = width_of(clumps_[index]);
    double right = x;
    for (const std::size_t child : clumps_[index].children)
      right = place(child, right, y + kTier) + kGpuGap;
    const double span = std::max(width, right - (clumps_[index].children.empty() ? 0 : kGpuGap) - x);
    Clump& clump = clumps_[index];
    clump.x = x + (span - width) / 2;
    clump.y = y;
    deepest_ = std::max(deepest_, y + kHead + kGpuHeight + kPad);
    sheet_.node(clump.host, clump.x, y, width, kHead + kGpuHeight + kPad);
    for (std::size_t k = 0; k < clump.ranks.size(); ++k) {
      const double gx = clump.x + kPad + static_cast<double>(k) * (kSmall + kSmallGap);
      sheet_.gpu(clump.ranks[k], gx, y + kHead, kSmall);
      at_[clump.ranks[k]] = {gx, y + kHead};
    }
    return x + span;
  }

  void draw(std::uint32_t parent, std::uint32_t child) {
    const auto a = at_.find(parent);
    const auto b = at_.find(child);
    if (a == at_.end() || b == at_.end()) return;
    const auto [ax, ay] = a->second;
    const auto [bx, by] = b->second;
    // Reduction goes up: the hop from child to parent is the one that the log names first.
    if (ay == by) {
      const bool right = bx > ax;
      const double step = right ? bx - (ax + kSmall) : ax - (bx + kSmall);
      if (step <= kSmallGap + 1) {
        sheet_.line(child, parent,
                    {{right ? bx : bx + kSmall, by + kGpuHeight / 2},
                     {right ? ax + kSmall : ax, ay + kGpuHeight / 2}},
                    true);
        return;
      }
      const double low = ay + kGpuHeight + kPad / 2;
      sheet_.line(child, parent,
                  {{bx + kSmall / 2, by + kGpuHeight},
                   {bx + kSmall / 2, low},
                   {ax + kSmall / 2, low},
                   {ax + kSmall / 2, ay + kGpuHeight}},
                  true);
      return;
    }
    const double between = by - kHead - 20;
    sheet_.line(child, parent,
                {{bx + kSmall / 2, by},
                 {bx + kSmall / 2, between},
                 {ax + kSmall / 2, between},
                 {ax + kSmall / 2, ay + kGpuHeight}},
                true);
  }

  const std::map<std::uint32_t, TreeNode>& tree_;
  const Hops& hops_;
  Sheet& sheet_;
  std::vector<Clump> clumps_;
  std::map<std::uint32_t, std::size_t> clump_of_;
  std::map<std::uint32_t, std::pair<double, double>> at_;
  double deepest_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

double paint_tree(const NcclCommunicator& communicator, const Hops& hops, Sheet& sheet, double y) {
  const auto tree = tree_of(communicator, 0);
  if (tree.empty() || tree.size() > kMostRanks) return y;
  sheet.label(kMargin + kLane, y + 12,
              fmt::format("channel 0: a tree over {}", count_of(tree.size(), "rank")), Tone::kStrong, 14);
  return TreePainter(tree, hops, sheet).paint(y + 24);
}

}  // namespace angio::views
