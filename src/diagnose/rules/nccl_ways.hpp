// The ways that connections take, counted over a log: what the rules of the network, the adapters and the
// node ask. Only for src/diagnose/rules.
#pragma once

#include <cstdint>
#include <string>

#include "model/nccl_log.hpp"

namespace angio::diagnose::nccl {

inline constexpr std::size_t kMostEvidence = 6;
// What to set when the connections or the topology are not in the log.
inline constexpr const char* kVerbose = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH on every rank";

bool is_socket(const std::string& network);
bool over_net(const model::NcclTransportCount& count);
bool over_socket(const model::NcclTransportCount& count);
bool over_net_with_gdr(const model::NcclTransportCount& count);
bool over_shm(const model::NcclTransportCount& count);
bool over_p2p(const model::NcclTransportCount& count);
std::uint64_t connections(const model::NcclLog& log, bool (*wanted)(const model::NcclTransportCount&));

// use(communicator, rank, count) for every count of connections of every rank that is wanted.
template <typename Wanted, typename Use>
void each_transport(const model::NcclLog& log, const Wanted& wanted, const Use& use) {
  for (const model::NcclCommunicator& communicator : log.communicators)
    for (const model::NcclRank& rank : communicator.ranks)
      for (const model::NcclTransportCount& count : rank.transports)
        if (wanted(count)) use(communicator, rank, count);
}

}  // namespace angio::diagnose::nccl
