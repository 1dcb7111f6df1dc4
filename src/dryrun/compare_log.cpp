#include "dryrun/compare_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/compare_facts.hpp"

namespace angio::dryrun {
namespace {

using model::NcclCommunicator;
using model::NcclLog;
using model::NcclPattern;
using model::NcclRank;
using model::NcclTuningCell;

constexpr std::size_t kMostCells = 12;  // rows of the tuning table that are shown; the others are counted

struct Side {
  const NcclLog& log;
  const NcclCommunicator& world;
  Ways ways;
  [[nodiscard]] bool between_nodes() const { return world.nodes.value_or(1) > 1; }
  // Connections are shown, and none goes over a network.
  [[nodiscard]] bool stays_inside() const { return !ways.empty() && ways.net.empty(); }
};

constexpr const char* kInside = "no network used";

std::string count_or_empty(const std::optional<std::uint32_t>& value) {
  return value ? std::to_string(*value) : std::string();
}

void compare_shape(const Side& a, const Side& b, Facts& facts) {
  const auto count = [](std::uint32_t value) { return value == 0 ? std::string() : std::to_string(value); };
  facts.add("ranks", count(a.world.nranks), count(b.world.nranks));
  facts.add("nodes", count_or_empty(a.world.nodes), count_or_empty(b.world.nodes),
            "NCCL counts as one node the ranks that its first ring joins without a network");
  facts.add("network", printable(network_of(a.log)), printable(network_of(b.log)));
}

double total(const NcclPattern& graph, bool between_nodes) {
  return graph.channels * (between_nodes ? std::min(graph.bw_intra, graph.bw_inter) : graph.bw_intra);
}

void compare_graphs(const Side& a, const Side& b, Facts& facts) {
  for (const GraphKind kind : {GraphKind::kRing, GraphKind::kTree, GraphKind::kNvls}) {
    const NcclPattern* one = weakest_graph(a.world, kind);
    const NcclPattern* other = weakest_graph(b.world, kind);
    const auto words = [](const Side& side, const NcclPattern* graph) {
      if (graph != nullptr) return graph_in_words(*graph, side.between_nodes());
      return std::string(side.world.patterns.empty() ? "" : "none");
    };
    std::string meaning;
    if (one != nullptr && other != nullptr) {
      const double before = total(*one, a.between_nodes());
      const double after = total(*other, b.between_nodes());
      if (number(before) != number(after))
        meaning = fmt::format("all channels together {} GB/s against {} GB/s", number(before), number(after));
    }
    facts.add(std::string(label(kind)) + " graph", words(a, one), words(b, other), std::move(meaning));
  }
}

void compare_rings(const Side& a, const Side& b, Facts& facts) {
  const auto& one = a.world.rings;
  const auto& other = b.world.rings;
  const auto count = [](const auto& rings) {
    return rings.empty() ? std::string() : count_of(rings.size(), "ring");
  };
  if (one.size() != other.size() || one.empty()) return facts.add("rings", count(one), count(other));
  std::size_t different = 0;
  std::size_t first = 0;
  for (std::size_t at = one.size(); at-- > 0;) {
    if (one[at].order == other[at].order) continue;
    ++different;
    first = at;
  }
  if (different == 0) return facts.add("rings", count(one), count(other));
  facts.add(fmt::format("ring {}", one[first].channel), ranks_in_order(one[first].order),
            ranks_in_order(other[first].order),
            fmt::format("the order of ranks differs in {} of {} rings", different, one.size()));
}

// Every rank's place in every tree.
using Trees = std::map<std::pair<std::uint32_t, std::uint32_t>, model::NcclTree>;  // channel, rank
Trees trees_of(const NcclCommunicator& world) {
  Trees trees;
  for (const NcclRank& rank : world.ranks)
    for (const model::NcclTree& tree : rank.trees)
      if (rank.rank) trees[{tree.channel, *rank.rank}] = tree;
  return trees;
}

std::string in_words(const model::NcclTree& tree) {
  std::vector<std::string> down;
  for (const int rank : tree.down)
    if (rank >= 0) down.push_back(std::to_string(rank));
  return fmt::format("{}, {}", tree.up < 0 ? std::string("root") : "parent " + std::to_string(tree.up),
                     down.empty() ? std::string("no child") : "children " + join(down, " "));
}

std::size_t channels_in(const Trees& trees) {
  return trees.empty() ? 0U : std::size_t{trees.rbegin()->first.first} + 1;
}

void compare_trees(const Side& a, const Side& b, Facts& facts) {
  const Trees one = trees_of(a.world);
  const Trees other = trees_of(b.world);
  const auto count = [](const Trees& trees) {
    return trees.empty() ? std::string() : count_of(channels_in(trees), "tree");
  };
  if (channels_in(one) != channels_in(other) || one.empty())
    return facts.add("trees", count(one), count(other));
  std::size_t different = 0;
  std::size_t shared = 0;
  const Trees::value_type* first = nullptr;
  for (const auto& entry : one) {
    const auto there = other.find(entry.first);
    if (there == other.end()) continue;
    ++shared;
    if (there->second.up == entry.second.up && there->second.down == entry.second.down) continue;
    ++different;
    if (first == nullptr) first = &entry;
  }
  if (first == nullptr) return facts.add("trees", count(one), count(other));
  facts.add(fmt::format("tree {}, rank {}", first->first.first, first->first.second), in_words(first->second),
            in_words(other.at(first->first)),
            fmt::format("{} of {} places in the trees differ", different, shared));
}

void compare_channels(const Side& a, const Side& b, Facts& facts) {
  struct Kind {
    const char* what;
    std::optional<std::uint32_t> NcclRank::* member;
  };
  for (const Kind& kind : {Kind{"channels of collectives", &NcclRank::coll_channels},
                           Kind{"channels of CollNet", &NcclRank::collnet_channels},
                           Kind{"channels of NVLS", &NcclRank::nvls_channels},
                           Kind{"channels of point to point", &NcclRank::p2p_channels},
                           Kind{"point-to-point channels of a peer", &NcclRank::p2p_channels_per_peer}})
    facts.add(kind.what, count_or_empty(most(a.world, kind.member)),
              count_or_empty(most(b.world, kind.member)));
}

std::string ways_in_words(const Ways& ways) {
  std::vector<std::string> parts;
  for (const auto& [name, pairs] : ways.by_name)
    parts.push_back(
        fmt::format("{} {}{}", printable(name), ways.complete ? "" : "at least ", count_pairs(pairs.size())));
  return join(parts, ", ");
}

std::string share_of_gdr(const Side& side) {
  if (side.ways.net.empty()) return side.stays_inside() ? kInside : "";
  return fmt::format("{} of {} between nodes", side.ways.net_gdr.size(), count_pairs(side.ways.net.size()));
}

std::string nics_in_words(const Side& side) {
  if (side.ways.nics.empty()) return side.stays_inside() ? kInside : "";
  std::vector<std::string> names;
  for (const auto& [device, lines] : side.ways.nics)
    names.push_back(nic_name(side.log, device));
  return fmt::format("{}: {}", names.size(), join(names, " "));
}

void compare_ways(const Side& a, const Side& b, Facts& facts) {
  std::string meaning;
  if (a.ways.shm.size() != b.ways.shm.size() && !a.ways.empty() && !b.ways.empty())
    meaning = fmt::format("through host memory: {} against {}", count_pairs(a.ways.shm.size()),
                          count_pairs(b.ways.shm.size()));
  facts.add("transports", ways_in_words(a.ways), ways_in_words(b.ways), std::move(meaning));
  facts.add("GPUDirect RDMA", share_of_gdr(a), share_of_gdr(b));
  facts.add("NICs that carry connections", nics_in_words(a), nics_in_words(b));
  const auto proxied = [](const Side& side) -> std::string {
    if (side.ways.net.empty()) return side.stays_inside() ? kInside : "";
    return count_pairs(side.ways.proxied.size());
  };
  facts.add("pairs over another GPU's NIC (PXN)", proxied(a), proxied(b));
}

std::string nvls_in_words(const NcclCommunicator& world) {
  for (const NcclRank& rank : world.ranks)
    if (rank.nvls) return *rank.nvls ? "available" : "not available";
  return {};
}

using CellKey = std::tuple<std::string, std::string, std::string>;

std::string cell_in_words(const NcclTuningCell& cell) {
  if (cell.bandwidth == 0) return "off";
  return fmt::format("{:.1f} us, {:.1f} GB/s", cell.latency_us, cell.bandwidth);
}

struct CellPair {
  const NcclTuningCell* a;
  const NcclTuningCell* b;
  [[nodiscard]] bool switched() const { return (a->bandwidth == 0) != (b->bandwidth == 0); }
};

// Those that were switched on or off first, then in the order of the table; what does not fit is counted.
void compare_tuning(const Side& a, const Side& b, Facts& facts) {
  std::map<CellKey, const NcclTuningCell*> other;
  for (const NcclTuningCell& cell : b.world.tuning)
    other[{cell.function, cell.algorithm, cell.protocol}] = &cell;
  std::vector<CellPair> different;
  for (const NcclTuningCell& cell : a.world.tuning) {
    const auto there = other.find({cell.function, cell.algorithm, cell.protocol});
    if (there == other.end()) continue;
    if (cell_in_words(cell) == cell_in_words(*there->second))
      facts.same();
    else
      different.push_back({&cell, there->second});
  }
  std::ranges::stable_sort(different, {}, [](const CellPair& pair) { return pair.switched() ? 0 : 1; });
  for (std::size_t at = 0; at < different.size() && at < kMostCells; ++at) {
    const CellPair& pair = different[at];
    facts.add(
        printable(fmt::format("tuning: {} {} {}", pair.a->function, pair.a->algorithm, pair.a->protocol)),
        cell_in_words(*pair.a), cell_in_words(*pair.b));
  }
  if (different.size() > kMostCells)
    facts.remark("tuning: further cells",
                 fmt::format("{} more cells of the table differ", different.size() - kMostCells));
}

// What NCCL warned of in one run alone.
std::set<std::string> warnings_of(const NcclLog& log) {
  std::set<std::string> texts;
  for (const model::NcclEvent& event : log.events)
    if (event.is_warning && !event.handled) texts.insert(event.text);
  return texts;
}

std::string warnings_in_words(const std::set<std::string>& own, const std::set<std::string>& others) {
  std::vector<std::string> alone;
  std::ranges::set_difference(own, others, std::back_inserter(alone));
  if (alone.empty()) return own.empty() ? "none" : "none of its own";
  return printable(alone.front()) + (alone.size() > 1 ? fmt::format(", and {} more", alone.size() - 1) : "");
}

}  // namespace

void compare_logs(const NcclLog& a, const NcclLog& b, Facts& facts) {
  const NcclCommunicator* one = world_of(a);
  const NcclCommunicator* other = world_of(b);
  if (one != nullptr && other != nullptr) {
    const Side left{a, *one, ways_of(*one)};
    const Side right{b, *other, ways_of(*other)};
    compare_shape(left, right, facts);
    compare_graphs(left, right, facts);
    compare_rings(left, right, facts);
    compare_trees(left, right, facts);
    compare_channels(left, right, facts);
    compare_ways(left, right, facts);
    facts.add("NVLS multicast", nvls_in_words(left.world), nvls_in_words(right.world));
    compare_tuning(left, right, facts);
  }
  const auto first = warnings_of(a);
  const auto second = warnings_of(b);
  facts.add("warnings", warnings_in_words(first, second), warnings_in_words(second, first));
}

}  // namespace angio::dryrun
