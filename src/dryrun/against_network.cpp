// Between nodes: sockets, GPUDirect RDMA, idle adapters, rings that cross too often.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/against_rules.hpp"

namespace angio::dryrun {

using diagnose::Draft;
using diagnose::Outcome;
using model::NcclConnection;
using model::NcclRank;
using model::NcclTransport;

namespace {

bool is_socket(std::string_view network) {
  return to_lower(network) == "socket";
}

// The network that the connections name, else the one that NCCL says it uses; empty: neither.
std::string network_used(const Shown& side) {
  for (const NcclRank& rank : side.world->ranks)
    for (const NcclConnection& connection : rank.connections)
      if (connection.transport == NcclTransport::kNet && !connection.net.empty()) return connection.net;
  return network_of(*side.log);
}

model::Source network_source(const Shown& side, const std::string& network) {
  for (const model::NcclProcess& process : side.log->processes)
    if (process.network == network) return process.network_source;
  return {};
}

}  // namespace

void network_socket(const Both& both, Outcome& outcome) {
  if (!both.between_nodes()) return outcome.not_applicable();
  const std::string healthy = network_used(both.healthy);
  if (healthy.empty() || is_socket(healthy)) return outcome.not_applicable();
  const std::string job = network_used(both.job);
  if (job.empty())
    return outcome.undecided("the job's network: its log has neither \"Using network\" nor connections",
                             kLogAll);
  if (!is_socket(job)) return;
  Draft draft;
  draft.title = "The job fell back to TCP sockets between nodes";
  draft.rank = 1;
  draft.evidence.push_back(seen(both.job, network_source(both.job, job), "Using network Socket"));
  draft.evidence.push_back(
      in_dry_run(fmt::format("{} carry connections", count_of(both.healthy.ways.nics.size(), "adapter"))));
  for (const model::NcclNetwork& network : both.job.log->networks)
    if (network.none_found)
      draft.evidence.push_back(
          seen(both.job, network.source, fmt::format("NET/{}: no device found", printable(network.plugin))));
  outcome.fire(std::move(draft));
}

void gdr_off(const Both& both, Outcome& outcome) {
  const Ways& healthy = both.healthy.ways;
  if (healthy.net.empty() || healthy.net_gdr.size() < healthy.net.size()) return outcome.not_applicable();
  const Ways& job = both.job.ways;
  if (job.net.empty())
    return outcome.undecided("GPUDirect RDMA of the job: its log has no connections between nodes", kLogAll);
  if (is_socket(network_used(both.job)) || job.net_gdr.size() == job.net.size()) return;
  Pairs without;
  std::ranges::set_difference(job.net, job.net_gdr, std::inserter(without, without.end()));
  Draft draft;
  draft.title = fmt::format("{} of {} between nodes have no GPUDirect RDMA", without.size(),
                            count_pairs(job.net.size()));
  draft.rank = static_cast<double>(without.size()) / static_cast<double>(job.net.size());
  for (const NcclRank& rank : both.job.world->ranks)
    for (const NcclConnection& connection : rank.connections)
      if (draft.evidence.empty() && connection.transport == NcclTransport::kNet && !connection.gdr)
        draft.evidence.push_back(seen(both.job, connection.source,
                                      printable(fmt::format("rank {} to rank {} via {}", connection.from,
                                                            connection.to, connection.text))));
  for (const model::NcclGdrPair& pair : both.job.log->gdr)
    if (!pair.enabled && draft.evidence.size() < 3)
      draft.evidence.push_back(
          seen(both.job, pair.source,
               printable(fmt::format("declined for GPU {} and NIC {}{}", pair.gpu, pair.hca,
                                     pair.distance && pair.threshold
                                         ? fmt::format(": distance {} > {}", *pair.distance, *pair.threshold)
                                         : (pair.reason.empty() ? "" : ": " + pair.reason)))));
  draft.evidence.push_back(in_dry_run(fmt::format("all {} with GDRDMA", count_pairs(healthy.net.size()))));
  outcome.fire(std::move(draft));
}

// ---- adapters of each node

namespace {

using NodeNics = std::map<std::size_t, std::set<std::uint32_t>>;

// Of rings, trees and NVLS; what ranks send each other directly depends on the program.
NodeNics nics_by_node(const Shown& side) {
  NodeNics nics;
  for (const NcclRank& rank : side.world->ranks) {
    const auto node = rank.rank ? side.nodes.find(*rank.rank) : side.nodes.end();
    if (node == side.nodes.end()) continue;
    for (const NcclConnection& way : rank.connections)
      if (way.transport == NcclTransport::kNet && way.net_device && way.connection == 0)
        nics[node->second].insert(*way.net_device);
  }
  return nics;
}

std::string host_of_node(const Shown& side, std::size_t node) {
  for (const NcclRank& rank : side.world->ranks)
    if (rank.rank && side.nodes.contains(*rank.rank) && side.nodes.at(*rank.rank) == node)
      if (const std::string& host = model::host_of(*side.log, rank); !host.empty()) return printable(host);
  return fmt::format("node {}", node);
}

std::string in_words(const Shown& side, const std::set<std::uint32_t>& nics) {
  std::vector<std::string> names;
  for (const std::uint32_t nic : nics)
    names.push_back(nic_name(*side.log, nic));
  return join(names, " ");
}

bool is_list(const model::NcclNetwork& network) {
  return !is_socket(network.plugin) && !network.devices.empty();
}

std::set<std::string> names_of(const model::NcclNetwork& network) {
  std::set<std::string> names;
  for (const model::NcclNetDevice& device : network.devices)
    names.insert(printable(device.name));
  return names;
}

// The shortest list of adapters that NCCL was offered on a node; null: the log has none.
const model::NcclNetwork* shortest_list(const Shown& side) {
  const model::NcclNetwork* found = nullptr;
  for (const model::NcclNetwork& network : side.log->networks)
    if (is_list(network) && (found == nullptr || network.devices.size() < found->devices.size()))
      found = &network;
  return found;
}

std::string in_words(const std::set<std::string>& names) {
  return "offered " + join(std::vector<std::string>(names.begin(), names.end()), " ");
}

// The adapters that every node of the dry run has, by the shortest of its lists; a phantom network prints
// none: then those that every node uses.
struct HealthyAdapters {
  std::size_t count = 0;        // 0: not shown
  std::set<std::string> names;  // empty: only their number is known
};

HealthyAdapters healthy_adapters(const Both& both) {
  if (const model::NcclNetwork* list = shortest_list(both.healthy))
    return {list->devices.size(), names_of(*list)};
  const NodeNics used = nics_by_node(both.healthy);
  if (used.empty()) return {};
  return {std::ranges::min(used | std::views::values, {}, &std::set<std::uint32_t>::size).size(), {}};
}

// What other nodes of the job were offered, where the dry run names none.
std::set<std::string> offered_in_job(const Shown& job) {
  std::set<std::string> names;
  for (const model::NcclNetwork& network : job.log->networks)
    if (is_list(network)) names.merge(names_of(network));
  return names;
}

// Nodes with a list that is so short, the given one left out.
std::size_t others_as_short(const Shown& job, const model::NcclNetwork& shortest, std::size_t healthy) {
  std::set<std::string> hosts;
  for (const model::NcclNetwork& network : job.log->networks)
    if (is_list(network) && network.devices.size() < healthy && network.host != shortest.host)
      hosts.insert(network.host);
  return hosts.size();
}

// A node whose list is shorter than that of the dry run lacks adapters, whatever is connected: it is the
// cause of what other nodes do not use.
bool fire_offered(const Both& both, Outcome& outcome) {
  const HealthyAdapters healthy = healthy_adapters(both);
  const model::NcclNetwork* job = shortest_list(both.job);
  if (job == nullptr || job->devices.size() >= healthy.count) return false;
  Draft draft;
  const std::string host = job->host.empty() ? std::string("a node") : printable(job->host);
  const std::size_t others = others_as_short(both.job, *job, healthy.count);
  draft.title = fmt::format("NCCL on {} was offered {} of {} adapters that healthy hardware {}{}", host,
                            job->devices.size(), healthy.count, healthy.names.empty() ? "uses" : "has",
                            others > 0 ? "; " + count_of(others, "other node") + " too few as well" : "");
  draft.rank = 1;  // before the weaker graphs that follow from it
  const std::set<std::string> here = names_of(*job);
  const std::set<std::string> there = healthy.names.empty() ? offered_in_job(both.job) : healthy.names;
  std::ranges::set_difference(there, here, std::back_inserter(draft.devices));
  draft.evidence.push_back(seen(both.job, job->source, in_words(here)));
  draft.evidence.push_back(in_dry_run(healthy.names.empty() ? fmt::format("every node's connections use {}",
                                                                          count_of(healthy.count, "adapter"))
                                                            : in_words(healthy.names)));
  draft.words["node"] = host;
  outcome.fire(std::move(draft));
  return true;
}

struct NicGap {
  std::vector<std::string> hosts;
  std::set<std::uint32_t> job;
};

void fire_idle(const Both& both, const NicGap& gap, const std::set<std::uint32_t>& healthy,
               Outcome& outcome) {
  Draft draft;
  draft.title = fmt::format("{} {} {} of {} adapters that healthy hardware would use", join(gap.hosts, ", "),
                            gap.hosts.size() == 1 ? "uses" : "use", gap.job.size(), healthy.size());
  draft.rank = 1 - static_cast<double>(gap.job.size()) / static_cast<double>(healthy.size());
  draft.evidence.push_back({"connections of the job over " + in_words(both.job, gap.job), "the job's log"});
  draft.evidence.push_back(in_dry_run("connections over " + in_words(both.healthy, healthy)));
  draft.words["node"] = gap.hosts.front();
  outcome.fire(std::move(draft));
}

// Why adapters in use cannot be compared; empty: they can. The job must have connected what the dry run did.
std::string nics_unknown(const Both& both) {
  const Shown& ours = both.healthy;
  const Shown& theirs = both.job;
  if (!ours.rings && !ours.trees && !ours.nvls)
    return "adapters in use: the dry run connected neither rings nor trees; give it collectives and sizes of "
           "the job";
  if ((ours.rings && !theirs.rings) || (ours.trees && !theirs.trees) || (ours.nvls && !theirs.nvls))
    return "the job's adapters in use: not every rank's log shows that it connected what the dry run "
           "connected";
  if (!ours.ways.complete || !theirs.ways.complete) return "adapters in use: more connections than are kept";
  if (theirs.nodes.empty())
    return "the job's adapters in use: the log does not tell which ranks share a node";
  if (ours.nodes.empty()) return "adapters in use: the dry run's log does not tell which ranks share a node";
  return {};
}

}  // namespace

void nic_idle(const Both& both, Outcome& outcome) {
  if (!both.between_nodes() || both.healthy.ways.nics.empty() || is_socket(network_used(both.healthy)))
    return outcome.not_applicable();
  if (is_socket(network_used(both.job))) return;  // another rule's finding
  if (fire_offered(both, outcome)) return;
  if (const std::string gap = nics_unknown(both); !gap.empty()) return outcome.undecided(gap, kLogAll);
  const NodeNics healthy = nics_by_node(both.healthy);
  const NodeNics job = nics_by_node(both.job);
  if (healthy.empty()) return outcome.not_applicable();
  // What every node of the dry run uses: its own changes by node are no measure.
  const auto least =
      std::ranges::min_element(healthy, {}, [](const auto& node) { return node.second.size(); });
  std::map<std::set<std::uint32_t>, NicGap> gaps;  // nodes alike are one finding
  for (const auto& [node, nics] : job) {
    if (nics.size() >= least->second.size()) continue;
    NicGap& gap = gaps[nics];
    gap.job = nics;
    gap.hosts.push_back(host_of_node(both.job, node));
  }
  for (auto& [nics, gap] : gaps) {
    gap.hosts.erase(std::ranges::unique(gap.hosts).begin(), gap.hosts.end());
    fire_idle(both, gap, least->second, outcome);
  }
}

// ---- rings

namespace {

// Steps from one node to another, all rings together; none: a rank whose node is not known.
std::optional<std::size_t> crossings(const Shown& side) {
  std::size_t count = 0;
  for (const model::NcclRing& ring : side.world->rings)
    for (std::size_t at = 0; at < ring.order.size(); ++at) {
      const auto from = side.nodes.find(ring.order[at]);
      const auto to = side.nodes.find(ring.order[(at + 1) % ring.order.size()]);
      if (from == side.nodes.end() || to == side.nodes.end()) return std::nullopt;
      if (from->second != to->second) ++count;
    }
  return count;
}

}  // namespace

void ring_crossings(const Both& both, Outcome& outcome) {
  if (!both.between_nodes() || both.healthy.world->rings.empty()) return outcome.not_applicable();
  const auto& rings = both.job.world->rings;
  if (rings.empty())
    return outcome.undecided("the order of the job's rings: its log has no Channel lines of rank 0", kLogAll);
  const auto healthy = crossings(both.healthy);
  const auto job = crossings(both.job);
  if (!healthy || !job)
    return outcome.undecided(job ? "crossings: the dry run's log does not tell which ranks share a node"
                                 : "the job's crossings: the log does not tell which ranks share a node",
                             kLogAll);
  const double ours = static_cast<double>(*healthy) / static_cast<double>(both.healthy.world->rings.size());
  const double theirs = static_cast<double>(*job) / static_cast<double>(rings.size());
  if (theirs <= ours) return;
  Draft draft;
  draft.title = fmt::format("A ring crosses between nodes {} times, on healthy hardware {}", number(theirs),
                            number(ours));
  draft.rank = 1 - ours / theirs;
  draft.evidence.push_back(
      seen(both.job, rings.front().source,
           fmt::format("ring {}: {}", rings.front().channel, ranks_in_order(rings.front().order))));
  draft.evidence.push_back(in_dry_run(fmt::format("ring {}: {}", both.healthy.world->rings.front().channel,
                                                  ranks_in_order(both.healthy.world->rings.front().order))));
  outcome.fire(std::move(draft));
}

}  // namespace angio::dryrun
