#include "diagnose/rules/nccl_ways.hpp"

#include "base/text.hpp"

namespace angio::diagnose::nccl {

using model::NcclLog;
using model::NcclTransport;
using model::NcclTransportCount;

bool is_socket(const std::string& network) {
  return to_lower(network) == "socket";
}

std::uint64_t connections(const NcclLog& log, bool (*wanted)(const NcclTransportCount&)) {
  std::uint64_t total = 0;
  each_transport(log, wanted,
                 [&](const auto&, const auto&, const NcclTransportCount& count) { total += count.count; });
  return total;
}

bool over_net(const NcclTransportCount& count) {
  return count.transport == NcclTransport::kNet;
}
bool over_socket(const NcclTransportCount& count) {
  return over_net(count) && is_socket(count.net);
}
bool over_net_with_gdr(const NcclTransportCount& count) {
  return over_net(count) && count.gdr;
}
bool over_shm(const NcclTransportCount& count) {
  return count.transport == NcclTransport::kShm;
}
bool over_p2p(const NcclTransportCount& count) {
  using enum NcclTransport;
  return count.transport == kP2pDirect || count.transport == kP2pIpc || count.transport == kP2pCumem ||
         count.transport == kP2pMnnvl || count.transport == kP2pOther || count.transport == kP2pIndirect;
}

}  // namespace angio::diagnose::nccl
