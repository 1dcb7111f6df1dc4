#include "model/nccl_tests.hpp"

#include <algorithm>
#include <set>

namespace angio::model {

std::uint32_t ranks_of(const NcclTestsTable& table) {
  std::uint32_t ranks = 0;
  for (const NcclTestsDevice& device : table.devices)
    ranks = std::max(ranks, device.rank + 1);
  return ranks;
}

std::vector<std::string> hosts_of(const NcclTestsTable& table) {
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  for (const NcclTestsDevice& device : table.devices)
    if (seen.insert(device.host).second) hosts.push_back(device.host);
  return hosts;
}

std::optional<double> bus_factor(NcclCollective collective, std::uint32_t ranks) {
  if (ranks == 0) return std::nullopt;
  const double share = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case NcclCollective::kAllReduce:
      return 2 * share;
    case NcclCollective::kAllGather:
    case NcclCollective::kReduceScatter:
    case NcclCollective::kAllToAll:
    case NcclCollective::kScatter:
    case NcclCollective::kGather:
      return share;
    case NcclCollective::kBroadcast:
    case NcclCollective::kReduce:
    case NcclCollective::kSendRecv:
    case NcclCollective::kHyperCube:
      return 1;
    case NcclCollective::kAllToAllV:
    case NcclCollective::kUnknown:
      break;
  }
  return std::nullopt;
}

NcclTestsPeak peak_of(const NcclTestsTable& table) {
  NcclTestsPeak peak;
  for (const NcclTestsRow& row : table.rows) {
    for (const auto* half : {&row.out_of_place, &row.in_place}) {
      if (!half->has_value() || (peak.row != nullptr && (*half)->bus.value <= peak.bus.value)) continue;
      peak = {&row, (*half)->bus};
    }
  }
  return peak;
}

const char* name_of(NcclCollective collective) {
  switch (collective) {
    case NcclCollective::kAllReduce:
      return "AllReduce";
    case NcclCollective::kAllGather:
      return "AllGather";
    case NcclCollective::kReduceScatter:
      return "ReduceScatter";
    case NcclCollective::kAllToAll:
      return "AlltoAll";
    case NcclCollective::kScatter:
      return "Scatter";
    case NcclCollective::kGather:
      return "Gather";
    case NcclCollective::kBroadcast:
      return "Broadcast";
    case NcclCollective::kReduce:
      return "Reduce";
    case NcclCollective::kSendRecv:
      return "SendRecv";
    case NcclCollective::kHyperCube:
      return "HyperCube";
    case NcclCollective::kAllToAllV:
      return "AlltoAllv";
    case NcclCollective::kUnknown:
      break;
  }
  return "an unnamed collective";
}

}  // namespace angio::model
