// A communicator as the tuner sees it, from our own search, a graph dump or the lines of a log.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "cost/nccl_model.hpp"
#include "cost/nccl_settings.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"

namespace angio::cost {
namespace {

constexpr int kX86 = 1, kPower = 2, kArm = 3, kIntel = 1, kAmd = 2;  // NCCL's numbers, src/include/graph.h
constexpr int kChain = 3, kRing = 4, kNvls = 5;                      // patterns

NcclCpu cpu_of(const nccl::SystemNode& node) {
  if (node.arch == kPower) return NcclCpu::kPower;
  if (node.arch == kArm) return NcclCpu::kArm;
  if (node.arch != kX86) return NcclCpu::kOther;
  return node.vendor == kIntel ? NcclCpu::kIntel : node.vendor == kAmd ? NcclCpu::kAmd : NcclCpu::kOther;
}

NcclGraph graph_of(const nccl::ChannelGraph& found) {
  NcclGraph graph;
  graph.channels = found.channels;
  graph.intra = found.bandwidth_intra;
  graph.inter = found.bandwidth_inter;
  graph.latency = found.latency_inter;
  graph.type_intra = found.type_intra;
  graph.type_inter = found.type_inter;
  graph.same_channels = found.same_channels != 0;
  graph.chain = found.pattern == nccl::Pattern::kTree;
  return graph;
}

// Both have the channels of the smaller.
void join(NcclJob& job) {
  const int channels = std::min(job.ring.channels, job.tree.channels);
  job.ring.channels = job.tree.channels = channels;
}

// NCCL does not ask for multicast on so few GPUs, or when it is told not to.
void drop_nvls(const nccl::System& system, NcclJob& job) {
  constexpr std::size_t kFewest = 3;
  const auto enabled = number_setting(job.settings, "NCCL_NVLS_ENABLE", job.assumptions);
  if (system.all(nccl::NodeKind::kGpu).size() < kFewest || enabled.value_or(2) == 0) job.nvls = {};
  if (job.nvls.channels > 0)
    job.assumptions.emplace_back(
        "assumed: the driver and the NVSwitches can multicast (NVLS); a topology does not tell");
}

// NCCL_MIN_CTAS and NCCL_MAX_CTAS, and their older names.
void limit_channels(NcclJob& job) {
  const auto most = static_cast<int>(knowledge::nccl_topology_value("channels", job.version));
  const auto limit = [&](const char* older, const char* newer) {
    auto given = number_setting(job.settings, older, job.assumptions);
    if (!given || *given < 0) given = number_setting(job.settings, newer, job.assumptions);
    return given && *given > 0 ? static_cast<int>(std::min<std::int64_t>(*given, most)) : 0;
  };
  if (const int highest = limit("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"); highest > 0)
    job.channels = std::min(job.channels, highest);
  if (const int lowest = limit("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS"); lowest > 0)
    job.channels = std::max(job.channels, lowest);
}

// What a dump or a log calls a path type; unknown words are the farthest.
nccl::PathType type_of(std::string_view word) {
  nccl::PathType type = nccl::PathType::kDis;
  return nccl::parse_path_type(word, type) ? type : nccl::PathType::kDis;
}

NcclGraph* place_of(NcclJob& job, int pattern) {
  if (pattern == kRing) return &job.ring;
  if (pattern == kNvls) return &job.nvls;
  return pattern >= 1 && pattern <= kChain ? &job.tree : nullptr;
}

}  // namespace

Result<NcclJob> nccl_job(const nccl::System& system, const nccl::SearchResult& found, int nodes,
                         NcclSettings settings) {
  const auto& gpus = system.all(nccl::NodeKind::kGpu);
  if (gpus.empty()) return fail(ErrorCode::kNotFound, "no GPU in the topology");
  if (nodes > 1 && system.all(nccl::NodeKind::kNet).empty())
    return fail(ErrorCode::kNotFound, "no NIC in the topology", "Between nodes NCCL needs one");
  NcclJob job;
  job.version = system.options.version;
  job.nodes = nodes;
  job.ranks = nodes * static_cast<int>(gpus.size());
  job.settings = std::move(settings);
  const auto [least, most] =
      std::ranges::minmax(gpus, {}, [&](std::uint32_t gpu) { return system.nodes[gpu].sm; });
  job.capability_least = system.nodes[least].sm;
  job.capability_most = system.nodes[most].sm;
  if (!system.all(nccl::NodeKind::kCpu).empty()) job.cpu = cpu_of(system.node(nccl::NodeKind::kCpu, 0));
  job.ring = graph_of(found.ring);
  job.tree = graph_of(found.tree);
  job.nvls = graph_of(found.nvls);
  join(job);
  drop_nvls(system, job);
  const nccl::Expectation expected = nccl::expect(system, found, nodes);
  job.channels = expected.channels;
  if (job.nvls.channels > 0) job.nvls_channels = expected.nvls_channels;
  limit_channels(job);
  return job;
}

void take_graphs(const std::vector<nccl::DumpedGraph>& graphs, NcclJob& job) {
  for (const nccl::DumpedGraph& dumped : graphs) {
    NcclGraph* const graph = place_of(job, dumped.pattern);
    if (graph == nullptr || dumped.id == 2) continue;  // CollNet's chain has the pattern of a tree
    graph->channels = dumped.channels;
    graph->intra = static_cast<float>(dumped.speed_intra);
    graph->inter = static_cast<float>(dumped.speed_inter);
    graph->latency = static_cast<float>(dumped.latency_inter);
    graph->type_intra = type_of(dumped.type_intra);
    graph->type_inter = type_of(dumped.type_inter);
    graph->same_channels = dumped.same_channels != 0;
    graph->chain = dumped.pattern == kChain;
  }
  join(job);
}

void take_log(const model::NcclCommunicator& logged, NcclJob& job) {
  for (const model::NcclPattern& pattern : logged.patterns) {
    NcclGraph* const graph = place_of(job, pattern.pattern);
    if (graph == nullptr) continue;
    // Ranks may print different ones; all take the least.
    const bool first = graph->channels == 0;
    const auto channels = static_cast<int>(std::min<std::uint32_t>(pattern.channels, 64));
    graph->channels = first ? channels : std::min(graph->channels, channels);
    const auto least = [&](float& value, double given) {
      value = first ? static_cast<float>(given) : std::min(value, static_cast<float>(given));
    };
    least(graph->intra, pattern.bw_intra);
    least(graph->inter, pattern.bw_inter);
    graph->type_intra =
        std::max(first ? nccl::PathType::kLoc : graph->type_intra, type_of(pattern.type_intra));
    graph->type_inter =
        std::max(first ? nccl::PathType::kLoc : graph->type_inter, type_of(pattern.type_inter));
    graph->same_channels = (first || graph->same_channels) && pattern.same_channels;
    graph->chain = graph->chain || pattern.pattern == kChain;
  }
  join(job);
  if (logged.nodes) job.nodes = static_cast<int>(*logged.nodes);
  if (logged.nranks > 0) job.ranks = static_cast<int>(logged.nranks);
  for (const model::NcclRank& rank : logged.ranks)
    if (rank.coll_channels) job.channels = static_cast<int>(*rank.coll_channels);
  for (const model::NcclRank& rank : logged.ranks)
    if (rank.nvls_channels) job.nvls_channels = static_cast<int>(*rank.nvls_channels);
}

}  // namespace angio::cost
