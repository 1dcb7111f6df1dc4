#include "views/nccl_hops.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "views/nccl_log_words.hpp"

namespace angio::views {
namespace {

using model::NcclConnection;
using model::NcclTransport;
using report::Tone;

bool has_nvlink(const model::NcclLog& log, const model::NcclCommunicator& communicator) {
  for (const model::NcclSystem& system : log.systems)
    for (const model::NcclSystemNode& node : system.nodes)
      if (node.link == "NVL") return true;
  return std::ranges::any_of(communicator.patterns, [](const model::NcclPattern& pattern) {
    return pattern.type_intra == "NVL" || pattern.type_intra == "NVB";
  });
}

}  // namespace

Hops::Hops(const model::NcclLog& log, const model::NcclCommunicator& communicator)
    : nvlink_(has_nvlink(log, communicator)) {
  for (const model::NcclRank& rank : communicator.ranks) {
    if (!rank.rank) continue;
    if (const std::string& host = host_of(log, rank); !host.empty()) hosts_[*rank.rank] = host;
    if (const auto device = rank.nvml_device ? rank.nvml_device : rank.cuda_device)
      gpus_[*rank.rank] = *device;
    for (const NcclConnection& way : rank.connections) {
      // Collectives use connection 0; the ways of send and receive may differ and draw no ring.
      const auto [place, fresh] = ways_.emplace(std::pair(way.from, way.to), &way);
      if (!fresh && way.connection < place->second->connection) place->second = &way;
    }
  }
}

const std::string& Hops::host(std::uint32_t rank) const {
  static const std::string kNone;
  const auto found = hosts_.find(rank);
  return found == hosts_.end() ? kNone : found->second;
}

std::string Hops::gpu(std::uint32_t rank) const {
  const auto found = gpus_.find(rank);
  return found == gpus_.end() || found->second < 0 ? "" : fmt::format("GPU {}", found->second);
}

Hop Hops::between(std::uint32_t from, std::uint32_t to) const {
  const auto found = ways_.find({from, to});
  if (found == ways_.end()) return {};
  const NcclConnection& way = *found->second;
  Hop hop{HopKind::kPeer, way_of(way), false};
  switch (way.transport) {
    case NcclTransport::kShm:
      hop.kind = HopKind::kHostMemory;
      hop.degraded = nvlink_;
      break;
    case NcclTransport::kNet:
    case NcclTransport::kCollNet:
      hop.kind = to_lower(way.net) == "socket" ? HopKind::kSocket
                 : way.gdr                     ? HopKind::kNetwork
                                               : HopKind::kStagedNetwork;
      hop.degraded = hop.kind != HopKind::kNetwork;
      break;
    case NcclTransport::kP2pMnnvl:
      hop.kind = HopKind::kNvlink;
      break;
    case NcclTransport::kUnknown:
      hop.kind = HopKind::kUnknown;
      break;
    default:
      hop.kind = nvlink_ ? HopKind::kNvlink : HopKind::kPeer;
  }
  return hop;
}

const char* name_of(HopKind kind) {
  switch (kind) {
    case HopKind::kNvlink:
      return "NVLink";
    case HopKind::kPeer:
      return "peer access";
    case HopKind::kHostMemory:
      return "host memory (SHM)";
    case HopKind::kNetwork:
      return "network, GPUDirect";
    case HopKind::kStagedNetwork:
      return "network, no GPUDirect";
    case HopKind::kSocket:
      return "TCP sockets";
    case HopKind::kUnknown:
      break;
  }
  return "not in the log";
}

report::Connector connector_of(const Hop& hop) {
  report::Connector line;
  line.width = 2;
  line.dashed = hop.degraded;
  line.tone = hop.degraded ? Tone::kCritical : Tone::kPlain;
  switch (hop.kind) {
    case HopKind::kNvlink:
      line.kind = "nvlink";
      break;
    case HopKind::kNetwork:
    case HopKind::kStagedNetwork:
    case HopKind::kSocket:
      line.kind = "network";
      line.width = 3;
      break;
    case HopKind::kHostMemory:
      line.kind = "interconnect";
      if (!hop.degraded) line.tone = Tone::kWarning;
      break;
    case HopKind::kPeer:
      line.kind = "pcie";
      break;
    case HopKind::kUnknown:
      line.tone = Tone::kUnknown;
      line.dashed = true;
  }
  if (hop.degraded) line.width = 3;
  line.tooltip = hop.words.empty() ? name_of(hop.kind) : hop.words;
  return line;
}

}  // namespace angio::views
