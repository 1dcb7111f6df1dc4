// NCCL's search for the channels of a ring, a tree or an NVLS graph on its system graph: the recursive search
// of src/graph/search.cc that takes bandwidth away as it goes, with NCCL's own candidate speeds and step
// limits. Compared with what NCCL 2.28.9 itself found (graph_search_shared_test.cpp). No CollNet, no user
// graph file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/system_graph.hpp"

namespace angio::nccl {

// NCCL's numbers, as in graph dumps.
enum class Pattern : std::uint8_t {
  kBalancedTree = 1,
  kSplitTree = 2,
  kTree = 3,
  kRing = 4,
  kNvls = 5,
  kCollnetDirect = 6
};
std::string_view label(Pattern pattern);  // "ring", "balanced tree" …

inline constexpr int kRingGraph = 0, kTreeGraph = 1, kNvlsGraph = 3;  // ids in dumps

struct ChannelGraph {
  int id = kRingGraph;
  Pattern pattern = Pattern::kRing;
  int cross_nic = 0;
  int channels = 0;
  float bandwidth_intra = 0;  // GB/s of one channel
  float bandwidth_inter = 0;
  float latency_inter = 0;               // microseconds, of the NIC
  PathType type_intra = PathType::kLoc;  // the worst path it uses
  PathType type_inter = PathType::kPix;
  int same_channels = 1;
  int hops = 0;
  int least_channels = 1;
  int most_channels = 1;
  bool simple_order = false;         // nothing fitted: rank order, NCCL's last resort
  std::vector<std::uint32_t> intra;  // channels × GPUs, indices among the GPUs
  std::vector<std::uint32_t> inter;  // channels × 2, indices among the NETs: in and out
};

struct SearchResult {
  ChannelGraph ring;
  ChannelGraph tree;
  ChannelGraph nvls;  // no channels where NVLS cannot be
};

// In NCCL's order: the ring decides how many channels the tree may have. cross_nic is NCCL_CROSS_NIC (default
// 2).
// Beyond kMostSearched GPUs nothing is searched: the recursion is as deep as channels times GPUs.
inline constexpr std::size_t kMostSearched = 96;
SearchResult search_graphs(const System& system, int cross_nic = 2);

// The lines NCCL prints for a graph ("Pattern 4, crossNic 0, nChannels 12, …"), without the prefix.
std::vector<std::string> nccl_lines(const System& system, const ChannelGraph& graph);

// What comes of the graphs once the ranks have agreed (facts of src/graph/connect.cc and tuning.cc).
struct Expectation {
  int channels = 0;       // of the communicator: "N coll channels"
  int nvls_channels = 0;  // of NVLS, where it can be
  double ring_bus = 0;  // GB/s of bus bandwidth that AllReduce cannot exceed, by algorithm; 0: cannot be used
  double tree_bus = 0;
  double nvls_bus = 0;
  double nvlink = 0;  // GB/s of one GPU in one direction, all links together; 0: none
  double nic = 0;     // GB/s of the NICs of one node that a GPU reaches, together; 0: one node only
};
Expectation expect(const System& system, const SearchResult& result, int nodes);

}  // namespace angio::nccl
