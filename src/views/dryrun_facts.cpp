#include "views/dryrun_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/nccl_log_words.hpp"
#include "views/topology_words.hpp"

namespace angio::views {

using model::DryRun;
using model::DryRunOperation;

std::uint32_t ranks_of(const DryRun& run) {
  return std::accumulate(run.ranks_per_node.begin(), run.ranks_per_node.end(), 0U);
}

std::string shape_words(const DryRun& run) {
  const std::string nodes = count_of(run.nodes, "node");
  const std::vector<std::uint32_t>& ranks = run.ranks_per_node;
  if (ranks.empty()) return nodes;
  if (std::ranges::all_of(ranks, [&](std::uint32_t each) { return each == ranks.front(); }))
    return fmt::format("{} × {}", nodes, count_of(ranks.front(), "rank"));
  std::vector<std::string> each;
  for (const std::uint32_t count : ranks)
    each.push_back(std::to_string(count));
  return fmt::format("{}, {} ({})", nodes, count_of(ranks_of(run), "rank"), short_list(each, 8));
}

std::string settings_words(const DryRun& run) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : run.settings)
    parts.push_back(printable(name + "=" + value));
  return join(parts, " ");
}

// ---------------------------------------------------------------- choices

std::string range_words(const std::string& first, const std::string& last) {
  return first == last ? first : first + " to " + last;
}

std::string name_ranges(const std::set<std::string>& names) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> stems;
  for (const std::string& name : names) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    const auto number = parse_integer<std::uint32_t>(std::string_view(name).substr(digits));
    const std::string stem = number ? name.substr(0, digits) : name;
    if (stems.empty() || stems.back().first != stem || !number) stems.push_back({stem, {}});
    if (number) stems.back().second.push_back(*number);
  }
  std::vector<std::string> parts;
  for (const auto& [stem, numbers] : stems)
    parts.push_back(stem + number_ranges(numbers));
  return join(parts, ", ");
}

std::string size_words(std::uint64_t from, std::uint64_t to) {
  return range_words(in_words(Bytes{from}), in_words(Bytes{to}));
}

std::string microseconds_words(double time) {
  return time < 100 ? fmt::format("{:.1f}", time) : fmt::format("{:.0f}", time);
}

std::string gigabytes_words(double gigabytes_per_second) {
  if (gigabytes_per_second < 0.1) return "<0.1";
  return gigabytes_per_second < 10 ? fmt::format("{:.1f}", gigabytes_per_second)
                                   : fmt::format("{:.0f}", gigabytes_per_second);
}

std::optional<double> bus_gigabytes(const std::string& collective, std::uint64_t bytes, double time_us,
                                    std::uint32_t ranks) {
  const std::string word = to_lower(collective);
  for (auto kind = model::NcclCollective::kAllReduce; kind <= model::NcclCollective::kAllToAllV;
       kind = static_cast<model::NcclCollective>(static_cast<int>(kind) + 1)) {
    if (to_lower(model::name_of(kind)) != word) continue;
    const auto factor = model::bus_factor(kind, ranks);
    if (!factor || !(time_us > 0)) return std::nullopt;
    return static_cast<double>(bytes) / (time_us * 1e3) * *factor;
  }
  return std::nullopt;
}

std::vector<DryRunChoice> folded_choices(const std::vector<DryRunOperation>& operations) {
  std::vector<DryRunChoice> choices;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const DryRunOperation& each = operations[i];
    if (!choices.empty()) {
      const DryRunOperation& first = operations[choices.back().first];
      if (first.collective == each.collective && first.algorithm == each.algorithm &&
          first.protocol == each.protocol && first.channels == each.channels &&
          first.reached == each.reached) {
        choices.back().last = i;
        continue;
      }
    }
    choices.push_back({i, i});
  }
  return choices;
}

std::string algorithm_words(const DryRunOperation& operation) {
  if (!operation.algorithm.empty()) return printable(operation.algorithm);
  if (!operation.reached) return "not reached";
  return model::is_point_to_point(operation.collective) ? std::string(kPointToPoint) : "not named";
}

std::string brief_choice(const std::string& collective, std::string choice) {
  if (choice == "not named" && model::is_point_to_point(collective)) return std::string(kPointToPoint);
  for (const std::string_view word : {" channels", " channel"})
    if (choice.ends_with(word)) return choice.replace(choice.size() - word.size(), word.size(), " ch");
  return choice;
}

// ---------------------------------------------------------------- ways

namespace {

// "1b000" of a rank's bus id to the class of the path from it: of the trees that NCCL printed with GRAPH.
class PathClasses {
 public:
  explicit PathClasses(const model::NcclLog& log) {
    for (const model::NcclSystem& system : log.systems)
      for (const model::NcclPathRow& row : system.paths)
        for (const model::NcclPathCell& cell : row.cells)
          types_.emplace(bus_of(row.from) + ">" + bus_of(cell.to), cell.type);
  }

  [[nodiscard]] std::string between(const std::string& from, const std::string& to) const {
    if (from.empty() || to.empty()) return "";
    const auto found = types_.find(from + ">" + to);
    return found == types_.end() ? "" : found->second;
  }

 private:
  static std::string bus_of(const std::string& name) {  // "GPU/0-1b000", "GPU/1B000" before 2.20
    return name.starts_with("GPU/") ? to_lower(name.substr(name.find_last_of("-/") + 1)) : name;
  }

  std::unordered_map<std::string, std::string> types_;
};

class WayTaker {
 public:
  WayTaker(const model::NcclLog& log, const NodeOfRank& nodes) : log_(log), nodes_(nodes), classes_(log) {}

  void take(const model::NcclCommunicator& communicator) {
    Buses buses;
    for (const model::NcclRank& rank : communicator.ranks)
      if (rank.rank) buses[*rank.rank] = to_lower(rank.bus_id);
    // Senders first: only they tell of a detour over another GPU's adapter (PXN).
    for (const bool receiving : {false, true})
      for (const model::NcclRank& rank : communicator.ranks)
        for (const model::NcclConnection& connection : rank.connections)
          if ((connection.direction == model::NcclDirection::kReceive) == receiving)
            take_one(rank, connection, buses);
  }

  std::vector<DryRunWay> finish() {
    std::vector<DryRunWay> ways;
    for (auto& [key, way] : ways_)
      ways.push_back(std::move(way));
    // Those within a node before those between nodes: as they stand in the alphabet, backwards.
    std::ranges::stable_sort(ways, [](const DryRunWay& a, const DryRunWay& b) {
      return a.pairs.starts_with("within") && !b.pairs.starts_with("within");
    });
    return ways;
  }

  // The name of the rank's adapter; "device 3" when the log has no list.
  [[nodiscard]] std::string adapter_of(const model::NcclRank& rank, std::uint32_t device) const {
    if (rank.process < log_.processes.size()) {
      const model::NcclProcess& process = log_.processes[rank.process];
      for (const model::NcclIndex index : process.networks) {
        if (index >= log_.networks.size()) continue;
        const model::NcclNetwork& network = log_.networks[index];
        if (network.devices.empty() && network.virtual_devices.empty()) continue;
        if (network.plugin != process.network && !process.network.empty() && process.networks.size() > 1)
          continue;
        const auto& devices = network.virtual_devices.empty() ? network.devices : network.virtual_devices;
        for (const model::NcclNetDevice& each : devices)
          if (each.index == device && !each.name.empty()) return each.name;
      }
    }
    return fmt::format("device {}", device);
  }

 private:
  using Buses = std::unordered_map<std::uint32_t, std::string>;
  using WayKey = std::pair<std::string, std::string>;
  using Ends = std::array<std::uint32_t, 3>;  // from, to, collective or point to point

  void take_one(const model::NcclRank& rank, const model::NcclConnection& connection, const Buses& buses) {
    const Ends ends{connection.from, connection.to, connection.connection};
    WayKey key{class_of(connection, buses), way_of(connection)};
    if (connection.direction == model::NcclDirection::kSend) sent_[ends] = key;
    if (connection.direction == model::NcclDirection::kReceive)
      if (const auto sent = sent_.find(ends); sent != sent_.end()) key = sent->second;
    DryRunWay& way = ways_[key];
    std::tie(way.pairs, way.way) = key;
    way.ranks.emplace(connection.from, connection.to);
    way.channels |= connection.channel_mask;
    way.slow = connection.transport == model::NcclTransport::kShm || to_lower(connection.net) == "socket";
    if (connection.net_device) way.adapters.insert(adapter_of(rank, *connection.net_device));
  }

  [[nodiscard]] std::string class_of(const model::NcclConnection& connection, const Buses& buses) const {
    std::string words = "between nodes";
    if (nodes_.node(connection.from) == nodes_.node(connection.to)) {
      words = "within a node";
      const auto from = buses.find(connection.from);
      const auto to = buses.find(connection.to);
      if (from != buses.end() && to != buses.end())
        if (const std::string type = classes_.between(from->second, to->second); !type.empty())
          words += ", " + type;
    }
    return connection.connection == 1 ? words + ", p2p" : words;
  }

  const model::NcclLog& log_;
  const NodeOfRank& nodes_;
  PathClasses classes_;
  std::map<WayKey, DryRunWay> ways_;
  std::map<Ends, WayKey> sent_;
};

}  // namespace

std::vector<DryRunWay> ways_of(const model::NcclLog& log, const NodeOfRank& nodes) {
  WayTaker taker(log, nodes);
  if (const model::NcclCommunicator* world = world_of(log)) taker.take(*world);
  return taker.finish();
}

std::uint64_t ways_left_out(const model::NcclLog& log) {
  std::uint64_t lines = 0;
  if (const model::NcclCommunicator* world = world_of(log))
    for (const model::NcclRank& rank : world->ranks)
      lines += rank.connections_left_out;
  return lines;
}

namespace {

// Which hops between nodes a graph has in which channel.
class GraphHops {
 public:
  GraphHops(const model::NcclCommunicator& world, const NodeOfRank& nodes, DryRunGraph graph)
      : nodes_(nodes) {
    if (graph == DryRunGraph::kRing) {
      for (const DistinctRing& ring : distinct_rings(world)) {
        if (ring.order.size() < world.nranks) continue;  // cut: where it goes on is not known
        for (std::size_t i = 0; i < ring.order.size(); ++i)
          add(ring.channels, ring.order[i], ring.order[(i + 1) % ring.order.size()]);
      }
      return;
    }
    for (const DistinctTree& tree : distinct_trees(world))
      for (std::uint32_t rank = 0; rank < tree.up.size(); ++rank) {
        if (tree.up[rank] < 0) continue;
        add(tree.channels, rank, static_cast<std::uint32_t>(tree.up[rank]));
        add(tree.channels, static_cast<std::uint32_t>(tree.up[rank]), rank);
      }
  }
  // Channels 0 to 63 as a mask.
  [[nodiscard]] std::uint64_t channels(std::uint32_t from, std::uint32_t to) const {
    const auto found = hops_.find({from, to});
    return found == hops_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::size_t count(std::uint32_t channel) const { return count_[channel]; }

 private:
  void add(const std::set<std::uint32_t>& channels, std::uint32_t from, std::uint32_t to) {
    if (nodes_.node(from) == nodes_.node(to)) return;
    std::uint64_t& mask = hops_[{from, to}];
    for (const std::uint32_t channel : channels) {
      if (channel >= count_.size() || (mask >> channel & 1U) != 0) continue;
      mask |= std::uint64_t{1} << channel;
      ++count_[channel];
    }
  }

  const NodeOfRank& nodes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> hops_;
  std::array<std::size_t, 64> count_{};
};

// The adapters of a graph's hops between nodes, and which hops are connected: both ends of one say so.
class AdapterTaker {
 public:
  AdapterTaker(const model::NcclLog& log, const model::NcclCommunicator& world, const NodeOfRank& nodes,
               DryRunGraph graph)
      : names_(log, nodes), hops_(world, nodes, graph), nodes_(nodes) {}

  void take(const model::NcclRank& rank, const model::NcclConnection& connection) {
    if (!rank.rank || !connection.net_device || connection.connection != 0) return;
    const std::uint64_t channels = connection.channel_mask & hops_.channels(connection.from, connection.to);
    if (channels == 0) return;
    const bool sends = connection.direction == model::NcclDirection::kSend ||
                       (connection.direction == model::NcclDirection::kNone && connection.from == *rank.rank);
    const std::string name = names_.adapter_of(rank, *connection.net_device);
    NodeAdapters& node = adapters_[nodes_.node(sends ? connection.from : connection.to)];
    for (std::uint32_t channel = 0; channel < 64; ++channel) {
      if ((channels >> channel & 1U) == 0) continue;
      (sends ? node[channel].out : node[channel].in).insert(name);
      (sends ? sent_ : received_)[channel].emplace(connection.from, connection.to);
    }
  }

  // A ring that nobody used shares some hops with the tree: those alone would look like a strange ring.
  std::map<std::uint32_t, NodeAdapters> finish() {
    for (auto& [node, channels] : adapters_)
      std::erase_if(channels, [&](const auto& each) { return !is_whole(each.first); });
    std::erase_if(adapters_, [](const auto& each) { return each.second.empty(); });
    return std::move(adapters_);
  }

 private:
  using Ends = std::set<std::pair<std::uint32_t, std::uint32_t>>;

  [[nodiscard]] bool is_whole(std::uint32_t channel) const {
    return sent_[channel].size() >= hops_.count(channel) && received_[channel].size() >= hops_.count(channel);
  }

  WayTaker names_;
  GraphHops hops_;
  const NodeOfRank& nodes_;
  std::map<std::uint32_t, NodeAdapters> adapters_;
  std::array<Ends, 64> sent_;  // by channel
  std::array<Ends, 64> received_;
};

}  // namespace

std::map<std::uint32_t, NodeAdapters> adapters_of(const model::NcclLog& log, const NodeOfRank& nodes,
                                                  DryRunGraph graph) {
  const model::NcclCommunicator* world = world_of(log);
  if (world == nullptr) return {};
  AdapterTaker taker(log, *world, nodes, graph);
  for (const model::NcclRank& rank : world->ranks)
    for (const model::NcclConnection& connection : rank.connections)
      taker.take(rank, connection);
  return taker.finish();
}

std::string adapter_words(const NodeAdapters& adapters) {
  std::map<ChannelAdapters, std::set<std::uint32_t>> channels;
  for (const auto& [channel, each] : adapters)
    channels[each].insert(channel);
  std::vector<std::pair<std::set<std::uint32_t>, const ChannelAdapters*>> list;
  for (const auto& [each, on] : channels)
    list.emplace_back(on, &each);
  std::ranges::sort(list, {}, [](const auto& entry) { return *entry.first.begin(); });
  std::vector<std::string> parts;
  for (const auto& [on, each] : list) {
    const std::string out = name_ranges(each->out);
    const std::string in = name_ranges(each->in);
    const std::string words = out == in     ? out
                              : in.empty()  ? out + " out"
                              : out.empty() ? in + " in"
                                            : in + " in, " + out + " out";
    parts.push_back(rank_list(on) + ": " + words);
  }
  return join(parts, "; ");
}

// ---------------------------------------------------------------- kernels

std::vector<DryRunKernel> kernels_of(const DryRun& run) {
  std::vector<DryRunKernel> kernels;
  std::unordered_map<std::string, std::size_t> known;
  for (const DryRunOperation& operation : run.operations) {
    if (operation.kernel.empty()) continue;
    const auto [place, fresh] = known.emplace(operation.kernel, kernels.size());
    if (fresh) kernels.push_back({operation.kernel, {}, {}, 0});
    DryRunKernel& kernel = kernels[place->second];
    kernel.grids.insert(operation.grid);
    kernel.blocks.insert(operation.block);
    ++kernel.operations;
  }
  return kernels;
}

}  // namespace angio::views
