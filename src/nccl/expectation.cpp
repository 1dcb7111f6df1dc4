// What NCCL makes of the graphs: channels of the communicator (ncclTopoPostset of src/graph/connect.cc) and
// the bandwidth its tuner ascribes to them (ncclTopoTuneModel of src/graph/tuning.cc), AllReduce, protocol
// Simple.
#include <algorithm>
#include <cmath>
#include <set>

#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"
#include "nccl/graph_search.hpp"

namespace angio::nccl {
namespace {

std::size_t generation_of(int sm) {
  return sm >= 100 ? 3U : sm >= 90 ? 2U : sm >= 80 ? 1U : 0U;
}

double entry(std::string_view name, const System& system, std::size_t index) {
  const auto list = knowledge::nccl_topology_list(name, system.options.version);
  return index < list.size() ? list[index] : 0;
}

int nvls_channels_of(const System& system, const SearchResult& result, int nodes, int sm) {
  constexpr std::size_t kFewest = 3;  // GPUs that NCCL asks the driver for multicast
  if (result.nvls.channels == 0 || sm < 90 || system.all(NodeKind::kGpu).size() < kFewest) return 0;
  const auto scale = static_cast<std::size_t>(std::min(nodes, 3));
  return static_cast<int>(entry("nvls-channels", system, sm < 100 ? 0 : scale));
}

int channels_of(const System& system, const SearchResult& result, int nodes, int sm) {
  const auto most = static_cast<int>(knowledge::nccl_topology_value("channels", system.options.version));
  int channels = std::min({result.ring.channels, result.tree.channels, most / 2});
  channels = std::min(2 * channels, most);
  const double fast = entry("more-channels", system, 0);
  const auto enough = static_cast<int>(entry("more-channels", system, 1));
  if (sm >= 90 && nodes > 1 && static_cast<double>(result.ring.bandwidth_intra) > fast && channels < enough)
    channels = std::min(2 * channels, most);
  if (entry("nvls-raises-channels", system, 0) != 0)
    channels = std::max(channels, nvls_channels_of(system, result, nodes, sm));
  return channels;
}

double graph_bandwidth(const ChannelGraph& graph, int nodes) {
  return graph.channels * static_cast<double>(nodes <= 2 ? graph.bandwidth_intra : graph.bandwidth_inter);
}

// A tree's algorithm bandwidth is half of what its channels move; times 2(n-1)/n it is bus bandwidth.
double tree_bus(const System& system, const SearchResult& result, int nodes, std::size_t generation,
                double ranks) {
  const char* const name = nodes == 1 ? "tree-channel-1" : nodes == 2 ? "tree-channel-2" : "tree-channel-3";
  double bandwidth = std::min(graph_bandwidth(result.tree, nodes) * entry("tree-efficiency", system, 0),
                              result.tree.channels * entry(name, system, generation));
  if (result.tree.pattern == Pattern::kTree) bandwidth *= entry("tree-chain-efficiency", system, 0);
  return bandwidth * (ranks - 1) / ranks;
}

// Only inside one node: between nodes NVLS also needs the network to reduce, or a tree of its own.
double nvls_bus(const System& system, const SearchResult& result, int nodes, std::size_t generation) {
  const double efficiency = entry("nvls-efficiency", system, generation);
  if (nodes != 1 || result.nvls.channels < 2 || efficiency == 0) return 0;
  const double channels = result.nvls.channels;
  const double intra =
      static_cast<double>(result.nvls.bandwidth_intra) * efficiency * (channels - 1) / channels * 2;
  return channels * std::min(intra, static_cast<double>(result.nvls.bandwidth_inter));
}

double nvlink_of(const System& system) {
  double most = 0;
  for (const std::uint32_t gpu : system.all(NodeKind::kGpu)) {
    const SystemNode& node = system.nodes[gpu];
    double sum = 0;
    for (const std::uint32_t link : (node.parent == kNone ? node : system.nodes[node.parent]).links)
      if (system.links[link].kind == LinkKind::kNvlink && system.links[link].to != system.links[link].from)
        sum += static_cast<double>(system.links[link].bandwidth);
    most = std::max(most, sum);
  }
  return most;
}

// Of the NICs that the GPUs prefer, each once, and no more than the path to it carries.
double nic_of(const System& system) {
  double sum = 0;
  std::set<std::uint32_t> seen;
  for (const std::uint32_t gpu : system.all(NodeKind::kGpu))
    for (const std::uint32_t net : system.nodes[gpu].near_nets) {
      const std::uint32_t node = system.all(NodeKind::kNet)[net];
      if (seen.insert(net).second) sum += static_cast<double>(system.path(gpu, node).bandwidth);
    }
  return sum;
}

}  // namespace

Expectation expect(const System& system, const SearchResult& result, int nodes) {
  int sm = system.node(NodeKind::kGpu, 0).sm;
  for (const std::uint32_t gpu : system.all(NodeKind::kGpu))
    sm = std::min(sm, system.nodes[gpu].sm);
  const std::size_t generation = generation_of(sm);
  const double ranks = static_cast<double>(system.all(NodeKind::kGpu).size()) * nodes;
  Expectation expected;
  expected.channels = channels_of(system, result, nodes, sm);
  expected.nvls_channels = nvls_channels_of(system, result, nodes, sm);
  expected.nvlink = nvlink_of(system);
  if (nodes > 1) expected.nic = nic_of(system);
  if (ranks < 2) return expected;
  // A ring's bus bandwidth is what its channels move: algorithm bandwidth times 2(n-1)/n.
  expected.ring_bus = graph_bandwidth(result.ring, nodes);
  expected.tree_bus = tree_bus(system, result, nodes, generation, ranks);
  expected.nvls_bus = nvls_bus(system, result, nodes, generation);
  return expected;
}

}  // namespace angio::nccl
