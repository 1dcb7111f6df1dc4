#include "views/nccl_ring_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "views/nccl_log_words.hpp"

namespace angio::views {
namespace {

using model::NcclCommunicator;

constexpr std::size_t kMostRanks = 4096;  // of a communicator that is put into words
constexpr std::size_t kMostWords = 10;    // of a ring's ranks one after the other
constexpr std::size_t kMostOrders = 4;    // within nodes, before the rest is counted
constexpr std::size_t kMostChildren = 8;

// The runs of 1 up or 1 down, at least three numbers long.
std::vector<std::string> runs(std::span<const std::uint32_t> order) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    if (end < order.size()) {
      const bool up = order[end] == order[i] + 1;
      const bool down = order[end] + 1 == order[i];
      while ((up || down) && end < order.size() &&
             (up ? order[end] == order[end - 1] + 1 : order[end] + 1 == order[end - 1]))
        ++end;
    }
    if (end - i < 3) {
      words.push_back(std::to_string(order[i++]));
      continue;
    }
    words.push_back(fmt::format("{}-{}", order[i], order[end - 1]));
    i = end;
  }
  return words;
}

// One visit of a ring to a node.
struct Visit {
  std::uint32_t node = 0;
  std::vector<std::uint32_t> local;
};

std::vector<Visit> visits_of(std::vector<std::uint32_t> order, const NodeOfRank& nodes) {
  // Turned back to where the first node is entered, or that node would be visited twice.
  std::size_t back = 0;
  while (back + 1 < order.size() && nodes.node(order[order.size() - 1 - back]) == nodes.node(order.front()))
    ++back;
  if (back + 1 < order.size()) std::ranges::rotate(order, order.end() - static_cast<std::ptrdiff_t>(back));
  std::vector<Visit> visits;
  for (const std::uint32_t rank : order) {
    if (visits.empty() || visits.back().node != nodes.node(rank)) visits.push_back({nodes.node(rank), {}});
    visits.back().local.push_back(nodes.local(rank));
  }
  return visits;
}

using Orders = std::map<std::string, std::set<std::uint32_t>>;  // words of an order to the nodes that have it

std::string order_words(const Orders& orders) {
  if (orders.size() == 1) return orders.begin()->first;
  std::vector<std::pair<std::string, const std::set<std::uint32_t>*>> list;
  for (const auto& [words, on] : orders)
    list.emplace_back(words, &on);
  std::ranges::stable_sort(list, {}, [](const auto& each) { return *each.second->begin(); });
  std::vector<std::string> parts;
  for (const auto& [words, on] : list) {
    if (parts.size() >= kMostOrders) {
      parts.push_back(fmt::format("{} other orders", list.size() - kMostOrders));
      break;
    }
    parts.push_back(fmt::format("{} on {} {}", words, on->size() == 1 ? "node" : "nodes", stride_words(*on)));
  }
  return join(parts, " and ");
}

std::vector<std::vector<std::uint32_t>> children_of(const std::vector<int>& up) {
  std::vector<std::vector<std::uint32_t>> children(up.size());
  for (std::uint32_t rank = 0; rank < up.size(); ++rank)
    if (up[rank] >= 0 && static_cast<std::size_t>(up[rank]) < up.size() &&
        static_cast<std::uint32_t>(up[rank]) != rank)
      children[static_cast<std::size_t>(up[rank])].push_back(rank);
  return children;
}

// Hops from the farthest rank to a root; 0 where the log draws a loop.
std::size_t depth_of(const std::vector<int>& up) {
  const auto children = children_of(up);
  std::vector<std::uint32_t> tier;
  for (std::uint32_t rank = 0; rank < up.size(); ++rank)
    if (up[rank] < 0) tier.push_back(rank);
  std::size_t depth = 0;
  while (!tier.empty()) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t rank : tier)
      next.insert(next.end(), children[rank].begin(), children[rank].end());
    if (next.empty()) break;
    tier = std::move(next);
    ++depth;
  }
  return depth;
}

// The ranks of one node from its head down: "0-7"; a fork: "0-3; 0 > 4-7".
std::string chain_words(const DistinctTree& tree, const std::vector<std::vector<std::uint32_t>>& children,
                        const NodeOfRank& nodes, std::uint32_t node, std::uint32_t first, std::uint32_t end) {
  std::vector<std::string> parts;
  std::vector<std::pair<int, std::uint32_t>> starts;  // parent on this node or -1, head
  for (std::uint32_t rank = first; rank < end; ++rank) {
    const int up = tree.up[rank];
    if (up < 0 || static_cast<std::size_t>(up) >= tree.up.size() ||
        nodes.node(static_cast<std::uint32_t>(up)) != node)
      starts.emplace_back(-1, rank);
  }
  for (std::size_t i = 0; i < starts.size() && parts.size() < kMostChildren; ++i) {
    std::vector<std::uint32_t> chain;
    std::uint32_t rank = starts[i].second;
    while (chain.size() <= end - first) {
      chain.push_back(nodes.local(rank));
      std::vector<std::uint32_t> here;
      for (const std::uint32_t child : children[rank])
        if (nodes.node(child) == node) here.push_back(child);
      for (std::size_t k = 1; k < here.size(); ++k)
        starts.emplace_back(static_cast<int>(nodes.local(rank)), here[k]);
      if (here.empty()) break;
      rank = here.front();
    }
    const std::string words = sequence_words(chain);
    parts.push_back(starts[i].first < 0 ? words : fmt::format("{} > {}", starts[i].first, words));
  }
  return join(parts, ", ");
}

std::string between_words(const DistinctTree& tree, const NodeOfRank& nodes) {
  std::map<std::uint32_t, std::set<std::uint32_t>> below;
  std::set<std::uint32_t> roots;
  for (std::uint32_t rank = 0; rank < tree.up.size(); ++rank) {
    const int up = tree.up[rank];
    if (up < 0) {
      roots.insert(nodes.node(rank));
      continue;
    }
    const std::uint32_t parent = nodes.node(static_cast<std::uint32_t>(up));
    if (parent != nodes.node(rank)) below[parent].insert(nodes.node(rank));
  }
  if (below.empty()) return "";
  if (nodes.nodes() > kMostChildren)
    return fmt::format("{} nodes, root on node {}, {} hops deep", nodes.nodes(), rank_list(roots),
                       depth_of(tree.up));
  std::vector<std::string> parts;
  for (const auto& [parent, children] : below)
    parts.push_back(fmt::format("{} > {}", parent, rank_list(children)));
  return fmt::format("root on node {}, nodes {}", rank_list(roots), join(parts, ", "));
}

// The order within each node, one if all have the same.
std::string within_words(const DistinctTree& tree, const NodeOfRank& nodes) {
  const auto children = children_of(tree.up);
  Orders orders;
  for (std::uint32_t node = 0; node < nodes.nodes(); ++node) {
    const std::uint32_t first = nodes.first(node);
    const std::uint32_t end =
        node + 1 < nodes.nodes() ? nodes.first(node + 1) : static_cast<std::uint32_t>(tree.up.size());
    if (first >= end || end > tree.up.size()) continue;
    orders[chain_words(tree, children, nodes, node, first, end)].insert(node);
  }
  return orders.empty() ? "" : order_words(orders);
}

// Words with the channels that have them, in the order in which they came.
struct Channels {
  std::vector<std::pair<std::string, std::set<std::uint32_t>>> list;
  void add(std::string words, const std::set<std::uint32_t>& channels) {
    const auto known = std::ranges::find(list, words, [](const auto& each) { return each.first; });
    if (known == list.end()) {
      list.emplace_back(std::move(words), channels);
    } else {
      known->second.insert(channels.begin(), channels.end());
    }
  }
};

}  // namespace

std::vector<DistinctRing> distinct_rings(const NcclCommunicator& communicator) {
  std::vector<DistinctRing> rings;
  std::map<std::vector<std::uint32_t>, std::size_t> known;
  for (const model::NcclRing& ring : communicator.rings) {
    if (ring.order.empty() || ring.order.size() > kMostRanks) continue;
    std::vector<std::uint32_t> order = ring.order;
    std::ranges::rotate(order, std::ranges::min_element(order));
    const auto [place, fresh] = known.emplace(order, rings.size());
    if (fresh) rings.push_back({std::move(order), {}});
    rings[place->second].channels.insert(ring.channel);
  }
  return rings;
}

const NcclCommunicator* communicator_with_rings(const model::NcclLog& log) {
  const NcclCommunicator* found = nullptr;
  for (const NcclCommunicator& communicator : log.communicators)
    if (!communicator.rings.empty() && (found == nullptr || communicator.nranks > found->nranks))
      found = &communicator;
  return found;
}

std::vector<DistinctTree> distinct_trees(const NcclCommunicator& communicator) {
  std::vector<DistinctTree> trees;
  if (communicator.nranks > kMostRanks) return trees;
  std::map<std::uint32_t, std::vector<int>> parents;  // by channel
  for (const model::NcclRank& rank : communicator.ranks) {
    for (const model::NcclTree& tree : rank.trees) {
      if (tree.self < 0 || static_cast<std::uint32_t>(tree.self) >= communicator.nranks) continue;
      std::vector<int>& up = parents[tree.channel];
      up.resize(communicator.nranks, kNotInLog);
      const auto ranks = static_cast<int>(communicator.nranks);
      up[static_cast<std::size_t>(tree.self)] = tree.up < ranks ? std::max(tree.up, -1) : kNotInLog;
      for (const int down : tree.down)
        if (down >= 0 && down < ranks && up[static_cast<std::size_t>(down)] == kNotInLog)
          up[static_cast<std::size_t>(down)] = tree.self;
    }
  }
  std::map<std::vector<int>, std::size_t> known;
  for (auto& [channel, up] : parents) {
    const auto [place, fresh] = known.emplace(up, trees.size());
    if (fresh) trees.push_back({std::move(up), {}});
    trees[place->second].channels.insert(channel);
  }
  return trees;
}

NodeOfRank::NodeOfRank(std::span<const std::uint32_t> ranks_per_node) {
  std::uint32_t first = 0;
  for (const std::uint32_t ranks : ranks_per_node) {
    first_.push_back(first);
    first += ranks;
  }
}

std::uint32_t NodeOfRank::node(std::uint32_t rank) const {
  if (first_.empty()) return 0;
  const auto after = std::ranges::upper_bound(first_, rank);
  return static_cast<std::uint32_t>(after - first_.begin()) - 1;
}

std::uint32_t NodeOfRank::local(std::uint32_t rank) const {
  return rank - first(node(rank));
}

std::string sequence_words(std::span<const std::uint32_t> order) {
  return join(runs(order), " ");
}

std::string stride_words(const std::set<std::uint32_t>& numbers) {
  if (numbers.size() > 3) {
    const std::uint32_t first = *numbers.begin();
    const std::uint32_t step = *std::next(numbers.begin()) - first;
    std::uint32_t expected = first;
    const bool even = step > 1 && std::ranges::all_of(numbers, [&](std::uint32_t number) {
                        const bool fits = number == expected;
                        expected += step;
                        return fits;
                      });
    if (even) return fmt::format("{},{} to {}", first, first + step, *numbers.rbegin());
  }
  return rank_list(numbers);
}

std::string ring_words(const DistinctRing& ring, const NodeOfRank& nodes, std::size_t nranks) {
  const std::vector<std::string> plain = runs(ring.order);
  if (ring.order.size() < nranks)
    return fmt::format("{}; the log names {} of {} ranks", join(plain, " "), ring.order.size(), nranks);
  if (plain.size() <= kMostWords || nodes.nodes() < 2) return join(plain, " ");
  const std::vector<Visit> visits = visits_of(ring.order, nodes);
  std::vector<std::uint32_t> order;
  Orders orders;
  for (const Visit& visit : visits) {
    order.push_back(visit.node);
    orders[sequence_words(visit.local)].insert(visit.node);
  }
  // Nodes that are entered several times, each time with other ranks: no short form tells that.
  if (visits.size() > nodes.nodes())
    return fmt::format("{} ranks, {} visits to {} nodes", ring.order.size(), visits.size(), nodes.nodes());
  return fmt::format("nodes {}; ranks of each: {}", sequence_words(order), order_words(orders));
}

std::vector<std::string> tree_lines(const std::vector<DistinctTree>& trees, const NodeOfRank& nodes) {
  Channels between;
  Channels within;
  for (const DistinctTree& tree : trees) {
    if (const auto missing = std::ranges::count(tree.up, kNotInLog); missing != 0) {
      const auto known = static_cast<std::ptrdiff_t>(tree.up.size()) - missing;
      between.add(fmt::format("the log tells the parents of {} of {} ranks", known, tree.up.size()),
                  tree.channels);
      continue;
    }
    if (nodes.nodes() > 1) between.add(between_words(tree, nodes), tree.channels);
    within.add(within_words(tree, nodes), tree.channels);
  }
  std::vector<std::string> lines;
  for (const auto& [words, channels] : between.list)
    if (!words.empty()) lines.push_back(fmt::format("{}: {}", channel_list(channels), words));
  std::vector<std::string> parts;
  for (const auto& [words, channels] : within.list)
    if (!words.empty())
      parts.push_back(
          fmt::format("{}: {}", parts.empty() ? channel_list(channels) : rank_list(channels), words));
  if (!parts.empty()) lines.push_back(join(parts, "; ") + (nodes.nodes() > 1 ? ", within a node" : ""));
  return lines;
}

std::string channel_list(const std::set<std::uint32_t>& channels) {
  return (channels.size() == 1 ? "channel " : "channels ") + rank_list(channels);
}

}  // namespace angio::views
