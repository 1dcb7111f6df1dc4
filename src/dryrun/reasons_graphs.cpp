// What NCCL takes of the graphs that its ranks found, and where it gave up the search.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "dryrun/reasons_case.hpp"

namespace angio::dryrun {
namespace {

using model::NcclPattern;
using nccl::PathType;

bool is_of(const NcclPattern& graph, GraphKind kind) {
  constexpr int kLastTree = 3;  // NCCL's numbers, src/include/graph.h: 1 to 3 are trees, 4 ring, 5 NVLS
  constexpr int kRing = 4;
  constexpr int kNvls = 5;
  if (kind == GraphKind::kRing) return graph.pattern == kRing;
  if (kind == GraphKind::kNvls) return graph.pattern == kNvls;
  return graph.pattern >= 1 && graph.pattern <= kLastTree;
}

void take_worse(const std::string& other, std::string& type) {
  PathType own{};
  PathType read{};
  if (nccl::parse_path_type(other, read) && nccl::parse_path_type(type, own) && read > own) type = other;
}

}  // namespace

std::optional<UsedGraph> used_graph(const model::NcclCommunicator& world, GraphKind kind) {
  UsedGraph used;
  for (const NcclPattern& graph : world.patterns) {
    if (!is_of(graph, kind)) continue;
    used.found.push_back(&graph);
    if (used.found.size() == 1) {
      used.graph = graph;
      continue;
    }
    NcclPattern& least = used.graph;
    least.channels = std::min(least.channels, graph.channels);
    least.bw_intra = std::min(least.bw_intra, graph.bw_intra);
    least.bw_inter = std::min(least.bw_inter, graph.bw_inter);
    least.cross_nic = std::max(least.cross_nic, graph.cross_nic);
    take_worse(graph.type_intra, least.type_intra);
    take_worse(graph.type_inter, least.type_inter);
    least.chains.clear();
  }
  if (used.found.empty()) return std::nullopt;
  return used;
}

std::optional<std::string> cite_no_path(const Case& one, const NcclPattern& graph, const Answers& answers) {
  const std::string words = fmt::format("Could not find a path for pattern {},", graph.pattern);
  for (const model::NcclEvent& event : one.log->events)
    if (contains(event.text, words)) return answers.cite(event.source, event.text);
  for (const model::NcclFile& file : one.log->files)
    for (const model::NcclUnknownLine& line : file.unknown)
      if (contains(line.text, words)) return answers.cite(line.source, line.text);
  // The token speed of its last resort, src/graph/search.cc.
  if (graph.type_intra != "SYS" || graph.channels != 1 || graph.bw_intra >= 1) return std::nullopt;
  return answers.cite(graph.source, "Pattern " + std::to_string(graph.pattern) + ": " +
                                        graph_in_words(graph, one.between_nodes));
}

}  // namespace angio::dryrun
