// The rings and trees of a communicator in few words: equal ones once, ranks in a row as ranges, and over
// many nodes the order of the nodes and the order within one. Also what the pictures of rings start from. No
// layout here.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/nccl_log.hpp"

namespace angio::views {

// A ring may begin at another rank: turned so that the smallest comes first.
struct DistinctRing {
  std::vector<std::uint32_t> order;
  std::set<std::uint32_t> channels;
};
std::vector<DistinctRing> distinct_rings(const model::NcclCommunicator& communicator);
// The largest communicator whose rings are in the log; null without any.
const model::NcclCommunicator* communicator_with_rings(const model::NcclLog& log);

// The parents of all ranks: -1 at a root, kNotInLog for a rank of which no line tells.
inline constexpr int kNotInLog = -2;
struct DistinctTree {
  std::vector<int> up;
  std::set<std::uint32_t> channels;
};
std::vector<DistinctTree> distinct_trees(const model::NcclCommunicator& communicator);

// Which ranks are on which node: as many as each node has, in order.
class NodeOfRank {
 public:
  NodeOfRank() = default;
  explicit NodeOfRank(std::span<const std::uint32_t> ranks_per_node);
  [[nodiscard]] std::uint32_t node(std::uint32_t rank) const;   // the last one for a rank beyond all
  [[nodiscard]] std::uint32_t local(std::uint32_t rank) const;  // its place on that node
  [[nodiscard]] std::size_t nodes() const { return first_.empty() ? 1 : first_.size(); }
  [[nodiscard]] std::uint32_t first(std::size_t node) const { return first_.empty() ? 0 : first_[node]; }

 private:
  std::vector<std::uint32_t> first_;
};

std::string channel_list(const std::set<std::uint32_t>& channels);  // "channels 0,8"
std::string sequence_words(std::span<const std::uint32_t> order);   // "0 7-1 9-15 8": as they follow
std::string stride_words(const std::set<std::uint32_t>& numbers);   // "0-3,8", "0,2 to 62"
// nranks: of the communicator; NCCL cuts the line of a ring of many.
std::string ring_words(const DistinctRing& ring, const NodeOfRank& nodes, std::size_t nranks);
// Trees as lines: how the nodes hang together, then the order of the ranks within them, each for the channels
// that have it.
std::vector<std::string> tree_lines(const std::vector<DistinctTree>& trees, const NodeOfRank& nodes);

}  // namespace angio::views
