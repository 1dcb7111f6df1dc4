// Causes that NCCL's own lines of the same run tell: they are looked for only where the bandwidth is low.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "judge/case.hpp"

namespace angio::judge {
namespace {

using diagnose::Draft;
using diagnose::Outcome;
using model::NcclLog;
using model::NcclTransport;

constexpr const char* kCollect =
    "run it with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH and give that log";

// Whether there is anything to look for, and somewhere to look.
bool can_look(const Case& facts, Outcome& outcome, const char* what) {
  if (facts.points.empty() || !is_plateau_low(facts)) {
    outcome.not_applicable();
    return false;
  }
  if (facts.log != nullptr) return true;
  outcome.undecided(fmt::format("{}: no lines of NCCL's are beside the result", what), kCollect);
  return false;
}

std::string place_of(const NcclLog& log, const model::Source& source) {
  return source.line == 0 ? std::string() : log.places.text(source);
}

template <typename Use>
void each_rank(const NcclLog& log, Use use) {
  for (const model::NcclCommunicator& communicator : log.communicators)
    for (const model::NcclRank& rank : communicator.ranks)
      use(rank);
}

}  // namespace

void sockets(const Case& facts, Outcome& outcome) {
  if (facts.nodes == 1) return outcome.not_applicable();
  if (!can_look(facts, outcome, "whether NCCL used TCP sockets")) return;
  bool told = false;
  for (const model::NcclProcess& process : facts.log->processes) {
    told = told || !process.network.empty();
    if (process.network != "Socket") continue;
    Draft draft;
    draft.title = fmt::format("{}: NCCL went over TCP sockets, not over RDMA", facts.subject);
    draft.evidence.push_back(
        {fmt::format("Using network Socket, said by {}", process.host.empty() ? "a rank" : process.host),
         place_of(*facts.log, process.network_source)});
    for (const model::NcclNetwork& network : facts.log->networks) {
      if (!network.none_found) continue;
      draft.evidence.push_back(
          {"NET/" + network.plugin + ": No device found", place_of(*facts.log, network.source)});
      break;
    }
    draft.rank = 0.8;
    return outcome.fire(std::move(draft));
  }
  if (!told) outcome.undecided("which network NCCL used: the log does not say", kCollect);
}

void staged(const Case& facts, Outcome& outcome) {
  if (!can_look(facts, outcome, "whether the data went through host memory")) return;
  bool told = false;
  bool fired = false;
  std::uint64_t direct = 0;
  const model::NcclTransportCount* net = nullptr;
  const model::NcclTransportCount* shared = nullptr;
  each_rank(*facts.log, [&](const model::NcclRank& rank) {
    for (const model::NcclTransportCount& way : rank.transports) {
      told = true;
      const bool over_net = way.transport == NcclTransport::kNet && way.net != "Socket";
      if (over_net && way.gdr) ++direct;
      if (over_net && !way.gdr && net == nullptr) net = &way;
      if (way.transport == NcclTransport::kShm && shared == nullptr) shared = &way;
    }
  });
  if (net != nullptr && direct == 0) {
    Draft draft;
    draft.title =
        fmt::format("{}: the network data went through host memory, without GPUDirect RDMA", facts.subject);
    draft.evidence.push_back(
        {"via " + net->text + ", no /GDRDMA on any connection", place_of(*facts.log, net->source)});
    draft.words["gdr"] = "yes";
    draft.rank = 0.7;
    outcome.fire(std::move(draft));
    fired = true;
  }
  if (shared != nullptr) {
    Draft draft;
    draft.title = fmt::format("{}: GPUs of one host talked through host memory (SHM)", facts.subject);
    draft.evidence.push_back({"via " + shared->text, place_of(*facts.log, shared->source)});
    draft.words["shm"] = "yes";
    draft.rank = 0.7;
    outcome.fire(std::move(draft));
    fired = true;
  }
  if (!told && !fired) outcome.undecided("which way the data went: the log has no connections", kCollect);
}

void no_nvls(const Case& facts, Outcome& outcome) {
  const bool has = facts.platform && facts.platform->nvls;
  if (!has) return outcome.not_applicable();
  if (!can_look(facts, outcome, "whether NCCL reduced in the switch (NVLS)")) return;
  bool told = false;
  bool fired = false;
  each_rank(*facts.log, [&](const model::NcclRank& rank) {
    told = told || rank.nvls.has_value();
    if (fired || rank.nvls.value_or(true)) return;
    Draft draft;
    draft.title =
        fmt::format("{}: NCCL did not reduce in the switch, which this machine can (NVLS)", facts.subject);
    draft.evidence.push_back(
        {"NVLS multicast support is not available", place_of(*facts.log, rank.nvls_source)});
    draft.rank = 0.4;
    outcome.fire(std::move(draft));
    fired = true;
  });
  if (!fired && !told) outcome.undecided("whether NVLS was on: the log does not say", kCollect);
}

}  // namespace angio::judge
