// Within a node: NVLink, graphs, channels, pairs through host memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/against_rules.hpp"
#include "nccl/system_graph.hpp"

namespace angio::dryrun {

using diagnose::Draft;
using diagnose::Outcome;
using model::NcclPattern;
using model::NcclRank;
using model::NcclSystem;
using model::NcclSystemNode;

namespace {

// Figures of one release for one topology are equal to the digit; a thousandth is the printing's.
bool is_less(double a, double b) {
  return a < b * 0.999;
}

// ---- NVLink of each GPU

struct GpuLinks {
  std::string name;
  double bandwidth = 0;  // GB/s of NVLink, all together
};

bool is_gpu(const NcclSystemNode& node) {
  return node.name.starts_with("GPU/") || node.name.starts_with("DEV/");  // 2.30: links hang off the device
}

// The tree is printed depth first: what lies deeper behind a GPU is its own.
std::vector<GpuLinks> links_of(const NcclSystem& system) {
  std::vector<GpuLinks> gpus;
  std::optional<std::uint32_t> depth;
  for (const NcclSystemNode& node : system.nodes) {
    if (depth && node.depth <= *depth) depth.reset();
    if (node.link == "NVL") {
      if (depth) gpus.back().bandwidth += node.bandwidth;
      continue;
    }
    if (depth || !is_gpu(node)) continue;
    depth = node.depth;
    gpus.push_back({node.name, 0});
  }
  std::ranges::stable_sort(gpus, {}, &GpuLinks::name);
  return gpus;
}

std::string in_words(const GpuLinks& gpu) {
  return fmt::format("{} GB/s", number(gpu.bandwidth));
}

void compare_links(const Both& both, const NcclSystem& system, const std::vector<GpuLinks>& healthy,
                   Outcome& outcome) {
  const std::vector<GpuLinks> gpus = links_of(system);
  if (gpus.size() != healthy.size())
    return outcome.undecided(
        fmt::format("NVLink of {}: NCCL saw {} there, {} in the dry run", printable(system.host),
                    count_of(gpus.size(), "GPU"), healthy.size()),
        "a dry run with as many GPUs on a node: --ranks, --node");
  Draft draft;
  double lost = 0;
  double all = 0;
  for (std::size_t at = 0; at < gpus.size(); ++at) {
    all += healthy[at].bandwidth;
    if (!is_less(gpus[at].bandwidth, healthy[at].bandwidth)) continue;
    lost += healthy[at].bandwidth - gpus[at].bandwidth;
    draft.devices.push_back(printable(gpus[at].name));
    draft.evidence.push_back(seen(both.job, system.source,
                                  fmt::format("{}: NVLink of {}, {} in the dry run", printable(gpus[at].name),
                                              in_words(gpus[at]), in_words(healthy[at]))));
  }
  if (draft.devices.empty()) return;
  const std::string where = system.host.empty() ? std::string("a node") : printable(system.host);
  draft.title =
      draft.devices.size() == 1
          ? fmt::format("{} on {} has less NVLink than healthy hardware", draft.devices.front(), where)
          : fmt::format("{} of {} on {} have less NVLink than healthy hardware", draft.devices.size(),
                        count_of(gpus.size(), "GPU"), where);
  draft.rank = all > 0 ? lost / all : 0;
  draft.cost = {.text = fmt::format("{} of {} GB/s of NVLink of the node's GPUs together", number(all - lost),
                                    number(all)),
                .formula = "dryrun-nvlink"};
  draft.words["node"] = where;
  outcome.fire(std::move(draft));
}

}  // namespace

void nvlink_missing(const Both& both, Outcome& outcome) {
  if (both.healthy.log->systems.empty())
    return outcome.undecided("NVLink: the dry run's log has no topology",
                             "a dry run with subsystem GRAPH on");
  const std::vector<GpuLinks> healthy = links_of(both.healthy.log->systems.front());
  if (std::ranges::none_of(healthy, [](const GpuLinks& gpu) { return gpu.bandwidth > 0; }))
    return outcome.not_applicable();
  if (both.job.log->systems.empty())
    return outcome.undecided("NVLink of the job's GPUs: its log does not show NCCL's topology", kLogAll);
  for (const NcclSystem& system : both.job.log->systems)
    compare_links(both, system, healthy, outcome);
}

// ---- graphs

namespace {

double within(const NcclPattern& graph) {
  return graph.channels * graph.bw_intra;
}
double between(const NcclPattern& graph) {
  return graph.channels * graph.bw_inter;
}

double share_lost(const NcclPattern& job, const NcclPattern& healthy, bool between_nodes) {
  double lost = within(healthy) > 0 ? 1 - within(job) / within(healthy) : 0;
  if (between_nodes && between(healthy) > 0) lost = std::max(lost, 1 - between(job) / between(healthy));
  return std::clamp(lost, 0.0, 1.0);
}

struct Graphs {
  const NcclPattern* job = nullptr;
  const NcclPattern* healthy = nullptr;
};

model::Cost cost_of(const Graphs& graphs, GraphKind kind, bool between_nodes) {
  const bool inside = !between_nodes || is_less(within(*graphs.job), within(*graphs.healthy));
  return {.text = fmt::format("{} of {} GB/s, all channels of the {} graph {}",
                              number(inside ? within(*graphs.job) : between(*graphs.job)),
                              number(inside ? within(*graphs.healthy) : between(*graphs.healthy)),
                              label(kind), inside ? "within a node" : "between nodes"),
          .formula = "dryrun-channels"};
}

Graphs graphs_of(const Both& both, GraphKind kind) {
  return {weakest_graph(*both.job.world, kind), weakest_graph(*both.healthy.world, kind)};
}

}  // namespace

bool is_weaker(const Both& both, GraphKind kind) {
  const Graphs graphs = graphs_of(both, kind);
  if (graphs.job == nullptr || graphs.healthy == nullptr) return false;
  if (is_less(within(*graphs.job), within(*graphs.healthy))) return true;
  return both.between_nodes() && is_less(between(*graphs.job), between(*graphs.healthy));
}

void graph_weaker(const Both& both, Outcome& outcome) {
  if (!both.healthy.has_graphs)
    return outcome.undecided("graphs: the dry run's log has none", "a dry run with subsystem GRAPH on");
  if (!both.job.has_graphs)
    return outcome.undecided("the job's rings and trees: its log has no Pattern lines", kLogAll);
  Draft draft;
  for (const GraphKind kind : {GraphKind::kRing, GraphKind::kTree, GraphKind::kNvls}) {
    if (!is_weaker(both, kind)) continue;
    const Graphs graphs = graphs_of(both, kind);
    const double lost = share_lost(*graphs.job, *graphs.healthy, both.between_nodes());
    if (draft.title.empty())
      draft.title = fmt::format("The {} graph has {:.0f} % less bandwidth than on healthy hardware",
                                label(kind), std::max(1.0, std::floor(lost * 100)));
    if (draft.cost.text.empty()) draft.cost = cost_of(graphs, kind, both.between_nodes());
    draft.rank = std::max(draft.rank, lost);
    const bool nodes = both.between_nodes();
    draft.evidence.push_back(
        seen(both.job, graphs.job->source,
             printable(fmt::format("{}: {}", label(kind), graph_in_words(*graphs.job, nodes)))));
    draft.evidence.push_back(
        in_dry_run(printable(fmt::format("{}: {}", label(kind), graph_in_words(*graphs.healthy, nodes)))));
  }
  if (!draft.title.empty()) outcome.fire(std::move(draft));
}

void channels_fewer(const Both& both, Outcome& outcome) {
  const auto healthy = most(*both.healthy.world, &NcclRank::coll_channels);
  const auto job = most(*both.job.world, &NcclRank::coll_channels);
  if (!healthy) return outcome.not_applicable();
  if (!job) return outcome.undecided("the job's channels: its log has no \"coll channels\" line", kLogAll);
  if (*job >= *healthy || is_weaker(both, GraphKind::kRing) || is_weaker(both, GraphKind::kTree)) return;
  Draft draft;
  draft.title =
      fmt::format("The communicator has {}, on healthy hardware {}", count_of(*job, "channel"), *healthy);
  draft.rank = 1 - static_cast<double>(*job) / *healthy;
  const auto& ranks = both.job.world->ranks;
  const auto at = std::ranges::find(ranks, job, &NcclRank::coll_channels);
  draft.evidence.push_back(seen(both.job, at->channels_source, fmt::format("{} coll channels", *job)));
  draft.evidence.push_back(in_dry_run(fmt::format("{} coll channels", *healthy)));
  if (!both.job.has_graphs)
    draft.evidence.push_back({"the job's log has no Pattern lines: its graphs may be the cause", ""});
  outcome.fire(std::move(draft));
}

// ---- pairs through host memory

namespace {

// The path between two ranks' GPUs as the dry run's NCCL classed it; empty: not shown.
std::string class_of(const Shown& healthy, const std::pair<std::uint32_t, std::uint32_t>& pair) {
  const auto bus_of = [&](std::uint32_t rank) {
    for (const NcclRank& one : healthy.world->ranks)
      if (one.rank == rank) return to_lower(one.bus_id);
    return std::string();
  };
  const std::string from = bus_of(pair.first);
  const std::string to = bus_of(pair.second);
  if (from.empty() || to.empty() || healthy.log->systems.empty()) return {};
  const auto is = [](const std::string& name, const std::string& bus) {
    const std::string lower = to_lower(name);
    return lower.starts_with("gpu/") && lower.ends_with(bus) &&
           (lower.size() == bus.size() + 4 || lower[lower.size() - bus.size() - 1] == '-');
  };
  for (const model::NcclPathRow& row : healthy.log->systems.front().paths) {
    if (!is(row.from, from)) continue;
    for (const model::NcclPathCell& cell : row.cells)
      if (is(cell.to, to)) return cell.type;
  }
  return {};
}

// P2P within NCCL's own limit (src/graph/paths.cc).
bool is_near(const std::string& word) {
  nccl::PathType type{};
  return nccl::parse_path_type(word, type) && type <= nccl::PathType::kPxb;
}

// Healthy hardware would have connected the pair directly: it did, or it is near enough there.
bool is_direct(const Shown& healthy, const std::pair<std::uint32_t, std::uint32_t>& pair) {
  if (healthy.ways.shm.contains(pair)) return false;
  return healthy.ways.p2p.contains(pair) || (!healthy.ways.p2p.empty() && is_near(class_of(healthy, pair)));
}

const model::NcclConnection* first_shm(const Shown& side, const Pairs& pairs) {
  for (const NcclRank& rank : side.world->ranks)
    for (const model::NcclConnection& connection : rank.connections)
      if (connection.transport == model::NcclTransport::kShm &&
          pairs.contains({connection.from, connection.to}))
        return &connection;
  return nullptr;
}

}  // namespace

void transport_shm(const Both& both, Outcome& outcome) {
  if (both.healthy.ways.p2p.empty()) return outcome.not_applicable();
  if (both.job.ways.empty())
    return outcome.undecided("how the job's GPUs reach each other: its log has no connections", kLogAll);
  Pairs found;
  for (const auto& pair : both.job.ways.shm)
    if (is_direct(both.healthy, pair)) found.insert(pair);
  if (found.empty()) return;
  Draft draft;
  draft.title = fmt::format(
      "{} through host memory that healthy hardware connects directly",
      found.size() == 1 ? "1 pair of GPUs goes" : fmt::format("{} pairs of GPUs go", found.size()));
  draft.rank = static_cast<double>(found.size()) /
               static_cast<double>(both.job.ways.shm.size() + both.job.ways.p2p.size());
  const model::NcclConnection* first = first_shm(both.job, found);
  draft.evidence.push_back(seen(both.job, first == nullptr ? model::Source{} : first->source,
                                fmt::format("{} via SHM", ranks_of(found))));
  const auto& pair = *found.begin();
  const std::string path = class_of(both.healthy, pair);
  draft.evidence.push_back(
      in_dry_run(fmt::format("rank {} to rank {}: {}{}", pair.first, pair.second,
                             both.healthy.ways.p2p.contains(pair) ? "P2P" : "near enough for P2P",
                             path.empty() ? "" : ", path class " + printable(path))));
  for (const model::NcclEvent& event : both.job.log->events)
    if (event.kind == model::NcclEventKind::kP2pDisabled || event.kind == model::NcclEventKind::kPeerQuery)
      draft.evidence.push_back(seen(both.job, event.source, printable(event.text)));
  outcome.fire(std::move(draft));
}

}  // namespace angio::dryrun
