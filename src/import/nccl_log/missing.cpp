#include "import/nccl_log/missing.hpp"

#include <algorithm>

namespace angio::import::nccl_log {

namespace {

template <typename Range, typename Test>
bool any(const Range& range, Test test) {
  return std::any_of(range.begin(), range.end(), test);
}

bool has_identity(const model::NcclLog& log) {
  return any(log.communicators, [](const auto& communicator) { return communicator.nranks > 0; });
}

bool has_graph(const model::NcclLog& log) {
  return !log.systems.empty() ||
         any(log.communicators, [](const auto& communicator) { return !communicator.patterns.empty(); });
}

bool has_connections(const model::NcclLog& log) {
  return any(log.communicators, [](const auto& communicator) {
    return any(communicator.ranks, [](const auto& rank) { return !rank.transports.empty(); });
  });
}

bool has_choices(const model::NcclLog& log) {
  return any(log.communicators, [](const auto& communicator) { return !communicator.choices.empty(); });
}

bool has_calls(const model::NcclLog& log) {
  return any(log.communicators, [](const auto& communicator) {
    return any(communicator.ranks,
               [](const auto& rank) { return rank.calls.collectives > 0 || rank.calls.point_to_point > 0; });
  });
}

bool has_many_ranks(const model::NcclLog& log) {
  return any(log.communicators, [](const auto& communicator) { return communicator.nranks > 1; });
}

// Communicators of which some ranks wrote into no file that was given.
bool lacks_ranks(const model::NcclLog& log) {
  return any(log.communicators, [](const auto& communicator) {
    return communicator.nranks > communicator.ranks.size() && !communicator.guessed;
  });
}

}  // namespace

std::vector<Missing> missing_facts(const model::NcclLog& log) {
  std::vector<Missing> all;
  if (log.info_lines == 0) {
    all.push_back(
        {MissingFact::kEverything, "everything but warnings: NCCL printed no INFO line", "NCCL_DEBUG=INFO"});
    return all;
  }
  if (!has_identity(log))
    all.push_back({MissingFact::kIdentity, "which rank, GPU and communicator a line is of",
                   "NCCL_DEBUG=INFO with INIT in NCCL_DEBUG_SUBSYS, from the start of the job"});
  const bool network = any(log.processes, [](const auto& process) { return !process.network.empty(); });
  if (!network && log.networks.empty())
    all.push_back({MissingFact::kNetwork, "the network and the devices that NCCL took",
                   "NCCL_DEBUG=INFO with INIT,NET in NCCL_DEBUG_SUBSYS, from the start of the job"});
  if (has_many_ranks(log) && !has_connections(log))
    all.push_back({MissingFact::kConnections, "the way between each pair of ranks",
                   "NCCL_DEBUG=INFO with INIT,P2P,SHM,NET in NCCL_DEBUG_SUBSYS, up to the first collective"});
  if (!has_graph(log))
    all.push_back({MissingFact::kGraph, "the topology and the rings and trees that NCCL searched",
                   "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH"});
  if (!has_choices(log))
    all.push_back({MissingFact::kTuning, "the algorithm and protocol for each size",
                   "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH,TUNING"});
  if (log.settings.empty())
    all.push_back({MissingFact::kEnvironment, "the settings: either none was made, or ENV was not printed",
                   "NCCL_DEBUG=INFO with ENV in NCCL_DEBUG_SUBSYS"});
  if (!has_calls(log))
    all.push_back({MissingFact::kCollectives, "each collective call, to compare the ranks",
                   "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL (a line for each call)"});
  if (log.events.size() > 1 && !any(log.events, [](const auto& event) { return event.time_us.has_value(); }))
    all.push_back({MissingFact::kTimestamps, "which rank failed first: the lines carry no time",
                   "NCCL_DEBUG_TIMESTAMP_LEVELS=WARN,INFO (2.26 and newer)"});
  if (lacks_ranks(log))
    all.push_back({MissingFact::kOtherRanks, "what the other ranks printed",
                   "the logs of all ranks: NCCL_DEBUG_FILE=nccl.%h.%p.log writes one file each"});
  return all;
}

}  // namespace angio::import::nccl_log
