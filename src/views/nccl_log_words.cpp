#include "views/nccl_log_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/cpu_set.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::views {

using model::NcclCommunicator;
using model::NcclLog;
using model::NcclNetDevice;
using model::NcclNetwork;
using model::NcclRank;
using model::NcclTransportCount;

std::string rank_list(const std::set<std::uint32_t>& ranks) {
  CpuSet set;
  for (const std::uint32_t rank : ranks)
    set.insert(rank);
  return to_list(set);
}

std::string short_list(const std::vector<std::string>& items, std::size_t shown) {
  if (items.size() <= shown + 1) return join(items, ", ");
  const std::vector<std::string> first(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format("{} and {} more", join(first, ", "), items.size() - shown);
}

std::string short_place(const std::string& place) {
  const std::size_t slash = place.rfind('/');
  return slash == std::string::npos ? place : place.substr(slash + 1);
}

namespace {

template <typename Way>
std::string words_of(const Way& way) {
  std::string text = model::name_of(way.transport);
  if (way.transport != model::NcclTransport::kNet && way.transport != model::NcclTransport::kCollNet)
    return text;
  if (!way.net.empty()) text += "/" + way.net;
  if (way.gdr) text += ", GPUDirect";
  return text;
}

}  // namespace

std::string way_of(const model::NcclTransportCount& count) {
  return words_of(count) + (count.proxied ? ", PXN" : "");
}

std::string way_of(const model::NcclConnection& connection) {
  return words_of(connection) + (connection.proxy_rank ? ", PXN" : "");
}

namespace {

std::string words_of_network(const NcclNetwork& network) {
  const auto& devices = network.virtual_devices.empty() ? network.devices : network.virtual_devices;
  const std::string label = network.plugin.empty() ? "" : network.plugin + ": ";
  if (devices.empty()) return label + "no device";
  std::map<std::string, std::vector<std::string>> kinds;
  for (const NcclNetDevice& device : devices) {
    std::string kind = device.link;
    if (device.speed_mbps)
      kind += (kind.empty() ? "" : " ") + in_words(BitsPerSecond{*device.speed_mbps * 1e6});
    kinds[kind].push_back(device.name);
  }
  std::vector<std::string> parts;
  for (const auto& [kind, names] : kinds)
    parts.push_back(short_list(names, 8) + (kind.empty() ? "" : " (" + kind + ")"));
  return label + join(parts, "; ");
}

// The line with the list is not in the log: names of single lines, in the order in which they came.
bool is_fragment(const NcclLog& log, const NcclNetwork& network) {
  return network.plugin.empty() && std::ranges::any_of(log.networks, [](const NcclNetwork& other) {
           return !other.plugin.empty() && !other.devices.empty();
         });
}

std::string_view pattern_name(int pattern) {
  switch (pattern) {
    case 1:
      return "balanced tree";
    case 2:
      return "split tree";
    case 3:
      return "tree";
    case 4:
      return "ring";
    case 5:
      return "NVLS";
    case 6:
      return "CollNet";
    default:
      return "graph";
  }
}

}  // namespace

std::vector<std::string> device_words(const NcclLog& log) {
  constexpr std::size_t kMostLists = 4;
  const bool several_hosts = hosts_of(log).size() > 1;
  std::map<std::string, std::vector<std::string>> lists;
  for (const NcclNetwork& network : log.networks)
    if (!is_fragment(log, network)) lists[words_of_network(network)].push_back(network.host);
  std::vector<std::string> lines;
  for (const auto& [words, hosts] : lists) {
    if (lines.size() >= kMostLists) {
      lines.push_back(fmt::format("and {} other lists of devices", lists.size() - kMostLists));
      break;
    }
    lines.push_back(words + (lists.size() > 1 && several_hosts ? " on " + short_list(hosts, 2) : ""));
  }
  return lines;
}

std::string gdr_words(const NcclLog& log) {
  std::uint64_t direct = 0;
  std::uint64_t staged = 0;
  for (const NcclCommunicator& communicator : log.communicators)
    for (const NcclRank& rank : communicator.ranks)
      for (const NcclTransportCount& count : rank.transports)
        if (count.transport == model::NcclTransport::kNet && to_lower(count.net) != "socket")
          (count.gdr ? direct : staged) += count.count;
  if (direct + staged != 0) return fmt::format("{} of {} connections between nodes", direct, direct + staged);
  std::size_t on = 0;
  for (const model::NcclGdrPair& pair : log.gdr)
    on += pair.enabled ? 1 : 0;
  if (!log.gdr.empty())
    return fmt::format("possible for {} of {} pairs of GPU and adapter", on, log.gdr.size());
  return "";
}

std::string channel_words(const NcclLog& log) {
  const NcclCommunicator* world = world_of(log);
  if (world == nullptr) return "";
  for (const NcclRank& rank : world->ranks) {
    if (!rank.coll_channels) continue;
    std::vector<std::string> parts{fmt::format("{} collective", *rank.coll_channels)};
    if (rank.nvls_channels) parts.push_back(fmt::format("{} NVLS", *rank.nvls_channels));
    if (rank.collnet_channels) parts.push_back(fmt::format("{} CollNet", *rank.collnet_channels));
    if (rank.p2p_channels) parts.push_back(fmt::format("{} point to point", *rank.p2p_channels));
    return join(parts, ", ");
  }
  return "";
}

std::vector<std::string> graph_words(const NcclLog& log) {
  std::vector<std::string> graphs;
  const NcclCommunicator* world = world_of(log);
  if (world == nullptr) return graphs;
  std::set<int> seen;
  for (const model::NcclPattern& pattern : world->patterns) {
    if (pattern.channels == 0 || !seen.insert(pattern.pattern).second) continue;
    graphs.push_back(
        fmt::format("{}: {} channel{} of {} GB/s within a node ({}){}", pattern_name(pattern.pattern),
                    pattern.channels, pattern.channels == 1 ? "" : "s", pattern.bw_intra, pattern.type_intra,
                    world->nodes.value_or(2) > 1
                        ? fmt::format(", {} GB/s between nodes ({})", pattern.bw_inter, pattern.type_inter)
                        : std::string()));
  }
  return graphs;
}

}  // namespace angio::views
