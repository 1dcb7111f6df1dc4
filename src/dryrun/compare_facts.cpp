#include "dryrun/compare_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::dryrun {

using model::NcclCommunicator;
using model::NcclConnection;
using model::NcclLog;
using model::NcclPattern;
using model::NcclRank;
using model::NcclTransport;

namespace {

GraphKind kind_of(const NcclPattern& graph) {
  constexpr int kRingPattern = 4;  // NCCL's numbers, src/include/graph.h
  constexpr int kNvlsPattern = 5;
  if (graph.pattern == kRingPattern) return GraphKind::kRing;
  return graph.pattern == kNvlsPattern ? GraphKind::kNvls : GraphKind::kTree;
}

bool is_known_kind(const NcclPattern& graph) {
  constexpr int kLastKnown = 5;  // 6 is CollNet direct, which needs a switch that reduces
  return graph.pattern >= 1 && graph.pattern <= kLastKnown;
}

std::string way_name(const NcclConnection& connection) {
  std::string name = model::name_of(connection.transport);
  if (connection.transport == NcclTransport::kNet) {
    if (!connection.net.empty()) name += "/" + connection.net;
    if (connection.gdr) name += " GDRDMA";
    return name;
  }
  if (is_p2p(connection.transport) && connection.read) name += " read";
  return name;
}

void add(const NcclConnection& connection, Ways& ways) {
  const std::pair pair{connection.from, connection.to};
  ways.by_name[way_name(connection)].insert(pair);
  if (is_p2p(connection.transport)) ways.p2p.insert(pair);
  if (connection.transport == NcclTransport::kShm) ways.shm.insert(pair);
  if (connection.transport != NcclTransport::kNet) return;
  ways.net.insert(pair);
  if (connection.gdr) ways.net_gdr.insert(pair);
  if (connection.proxy_rank) ways.proxied.insert(pair);
  if (connection.net_device) ways.nics[*connection.net_device] += connection.count;
}

}  // namespace

std::string release_of(std::string_view version) {
  return std::string(trim(version.substr(0, version.find('+'))));
}

bool is_at_least(std::string_view release, std::string_view bound) {
  return knowledge::compare_versions(release, bound).value_or(0) >= 0;
}

std::string_view label(GraphKind kind) {
  if (kind == GraphKind::kRing) return "ring";
  return kind == GraphKind::kTree ? "tree" : "NVLS";
}

const NcclPattern* weakest_graph(const NcclCommunicator& world, GraphKind kind) {
  const NcclPattern* found = nullptr;
  const auto strength = [](const NcclPattern& graph) {
    return graph.channels * std::min(graph.bw_intra, graph.bw_inter);
  };
  for (const NcclPattern& graph : world.patterns) {
    if (!is_known_kind(graph) || kind_of(graph) != kind) continue;
    if (found == nullptr || strength(graph) < strength(*found)) found = &graph;
  }
  return found;
}

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

std::string graph_in_words(const NcclPattern& graph, bool between_nodes) {
  if (graph.channels == 0) return "no channels";
  const std::string first =
      fmt::format("{} of {} GB/s", count_of(graph.channels, "channel"), number(graph.bw_intra));
  if (!between_nodes) return fmt::format("{}, paths {}", first, graph.type_intra);
  return fmt::format("{}, between nodes {} GB/s, paths {}/{}{}", first, number(graph.bw_inter),
                     graph.type_intra, graph.type_inter,
                     graph.cross_nic != 0 ? fmt::format(", crossNic {}", graph.cross_nic) : "");
}

bool is_p2p(NcclTransport transport) {
  using enum NcclTransport;
  return transport == kP2pDirect || transport == kP2pIpc || transport == kP2pCumem ||
         transport == kP2pIndirect || transport == kP2pMnnvl || transport == kP2pOther;
}

Ways ways_of(const NcclCommunicator& world) {
  Ways ways;
  for (const NcclRank& rank : world.ranks) {
    ways.complete = ways.complete && rank.connections_left_out == 0;
    for (const NcclConnection& connection : rank.connections)
      add(connection, ways);
  }
  return ways;
}

std::string count_pairs(std::size_t count) {
  return count_of(count, "pair");
}

std::string nic_name(const NcclLog& log, std::uint32_t device) {
  for (const model::NcclNetwork& network : log.networks) {
    const auto& list = network.virtual_devices.empty() ? network.devices : network.virtual_devices;
    for (const model::NcclNetDevice& one : list)
      if (one.index == device && !one.name.empty()) return printable(one.name);
  }
  return fmt::format("NIC {}", device);
}

const model::NcclSetting* read_setting(const NcclLog& log, std::string_view name) {
  const model::NcclSetting* found = nullptr;
  for (const model::NcclSetting& setting : log.settings) {
    if (setting.name != name) continue;
    if (found == nullptr || setting.processes.size() > found->processes.size()) found = &setting;
  }
  return found;
}

const std::string* find_setting(const std::vector<std::pair<std::string, std::string>>& settings,
                                std::string_view name) {
  const std::string* found = nullptr;
  for (const auto& [key, value] : settings)
    if (key == name) found = &value;  // the last one stands in the environment
  return found;
}

bool is_on(std::string_view value) {
  const auto read = parse_integer<std::int64_t>(trim(value));
  return read && *read != 0;
}

std::optional<std::uint32_t> most(const NcclCommunicator& world,
                                  std::optional<std::uint32_t> NcclRank::* member) {
  std::optional<std::uint32_t> found;
  for (const NcclRank& rank : world.ranks)
    if (const auto value = rank.*member) found = std::max(found.value_or(0), *value);
  return found;
}

std::string network_of(const NcclLog& log) {
  std::map<std::string, std::size_t> counts;
  for (const model::NcclProcess& process : log.processes)
    if (!process.network.empty()) ++counts[process.network];
  if (counts.empty()) return {};
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
}

std::string ranks_in_order(const std::vector<std::uint32_t>& order) {
  constexpr std::size_t kShown = 16;  // a line of 80 columns
  std::string text;
  for (std::size_t at = 0; at < order.size() && at < kShown; ++at)
    text += (at == 0 ? "" : " ") + std::to_string(order[at]);
  return order.size() > kShown ? text + " …" : text;
}

}  // namespace angio::dryrun
