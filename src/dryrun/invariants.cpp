#include "dryrun/invariants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/ids.hpp"
#include "base/text.hpp"
#include "knowledge/nccl_topology.hpp"
#include "nccl/system_graph.hpp"

namespace angio::dryrun {
namespace {

using model::NcclCommunicator;
using model::NcclConnection;
using model::NcclRank;
using model::NcclTransport;
using nccl::PathType;

constexpr std::size_t kMostSaid = 16;  // of breaches: the first say enough

bool is_p2p(NcclTransport transport) {
  return transport == NcclTransport::kP2pDirect || transport == NcclTransport::kP2pIpc ||
         transport == NcclTransport::kP2pCumem || transport == NcclTransport::kP2pOther;
}

std::string_view setting(const model::DryRun& run, std::string_view name) {
  const auto found = std::ranges::find_if(run.settings, [&](const auto& each) { return each.first == name; });
  return found == run.settings.end() ? std::string_view() : std::string_view(found->second);
}

// "2.28.9+cuda13.0"
std::string_view release(const model::DryRun& run) {
  return std::string_view(run.nccl).substr(0, run.nccl.find('+'));
}

class Examiner {
 public:
  Examiner(const model::DryRun& run, std::span<const nccl::Element> topologies)
      : run_(run), topologies_(topologies) {
    for (std::uint32_t node = 0; node < run.ranks_per_node.size(); ++node)
      node_of_.insert(node_of_.end(), run.ranks_per_node[node], node);
    const double most = knowledge::nccl_topology_value("channels", release(run));
    if (!std::isnan(most)) most_channels_ = static_cast<std::uint32_t>(most);
  }

  std::vector<std::string> run() {
    if (!run_.evidence.log) return {};
    for (const NcclCommunicator& communicator : run_.evidence.log->communicators) {
      rings(communicator);
      trees(communicator);
      channels(communicator);
      choices(communicator);
      if (is_world(communicator)) transports(communicator);
    }
    if (run_.end == model::DryRunEnd::kComplete) completeness();
    return std::move(broken_);
  }

 private:
  void say(std::string text) {
    if (broken_.size() < kMostSaid) broken_.push_back(std::move(text));
  }

  [[nodiscard]] bool is_world(const NcclCommunicator& communicator) const {
    return communicator.parent.empty() && communicator.nranks == node_of_.size();
  }

  void rings(const NcclCommunicator& communicator) {
    for (const model::NcclRing& ring : communicator.rings) {
      std::vector<std::uint32_t> order = ring.order;
      std::ranges::sort(order);
      bool whole = order.size() == communicator.nranks;
      for (std::uint32_t rank = 0; whole && rank < order.size(); ++rank)
        whole = order[rank] == rank;
      if (!whole)
        say(fmt::format("The ring of channel {} does not go through each of the {} ranks once", ring.channel,
                        communicator.nranks));
    }
  }

  // Parents of all ranks, where all ranks show theirs: one root, and everybody below it.
  void trees(const NcclCommunicator& communicator) {
    std::map<std::uint32_t, std::map<int, int>> up;  // by channel
    for (const NcclRank& rank : communicator.ranks)
      for (const model::NcclTree& tree : rank.trees)
        up[tree.channel].emplace(tree.self, tree.up);
    for (const auto& [channel, parents] : up)
      if (parents.size() == communicator.nranks && !is_tree(parents))
        say(fmt::format("The tree of channel {} does not hold all {} ranks below one root", channel,
                        communicator.nranks));
  }

  static bool is_tree(const std::map<int, int>& parents) {
    if (std::ranges::count(parents, -1, [](const auto& each) { return each.second; }) != 1) return false;
    std::set<int> safe;  // known to lead to the root
    for (const auto& [start, parent] : parents) {
      std::vector<int> way;
      int at = start;
      while (at != -1 && !safe.contains(at) && way.size() <= parents.size()) {
        way.push_back(at);
        const auto next = parents.find(at);
        if (next == parents.end()) return false;
        at = next->second;
      }
      if (way.size() > parents.size()) return false;
      safe.insert(way.begin(), way.end());
    }
    return true;
  }

  void channels(const NcclCommunicator& communicator) {
    for (const NcclRank& rank : communicator.ranks)
      for (const auto& count :
           {rank.coll_channels, rank.nvls_channels, rank.collnet_channels, rank.p2p_channels})
        if (count && most_channels_ && *count > *most_channels_) {
          say(fmt::format("Rank {} has {} channels; NCCL {} has at most {}", rank.rank.value_or(0), *count,
                          release(run_), *most_channels_));
          return;
        }
    for (const model::NcclRing& ring : communicator.rings)
      if (const auto most = of_rank_zero(communicator); most && ring.channel >= *most) {
        say(fmt::format("A ring of channel {} with {} channels", ring.channel, *most));
        return;
      }
  }

  static std::optional<std::uint32_t> of_rank_zero(const NcclCommunicator& communicator) {
    for (const NcclRank& rank : communicator.ranks)
      if (rank.rank == 0U) return rank.coll_channels;
    return std::nullopt;
  }

  void choices(const NcclCommunicator& communicator) {
    for (const model::NcclChoice& choice : communicator.choices) {
      if (!choice.channel_low || !choice.channel_high) continue;
      const bool within = !most_channels_ || *choice.channel_high < *most_channels_;
      if (*choice.channel_low > *choice.channel_high || !within)
        say(fmt::format("{} of {} bytes on channels {} to {}", choice.function, choice.bytes,
                        *choice.channel_low, *choice.channel_high));
    }
  }

  void completeness() {
    const auto& all = run_.evidence.log->communicators;
    const auto world =
        std::ranges::find_if(all, [&](const NcclCommunicator& each) { return is_world(each); });
    if (world == all.end()) {
      if (!all.empty()) say(fmt::format("No communicator of all {} ranks in the log", node_of_.size()));
      return;
    }
    std::size_t complete = 0;
    for (const NcclRank& rank : world->ranks)
      if (rank.state != model::NcclRankState::kStarted && rank.state != model::NcclRankState::kUnknown)
        ++complete;
    if (complete < node_of_.size())
      say(fmt::format("Only {} of {} ranks say that their initialization is complete", complete,
                      node_of_.size()));
  }

  // ---- transports

  void transports(const NcclCommunicator& communicator) {
    std::map<std::uint32_t, const NcclRank*> ranks;
    for (const NcclRank& rank : communicator.ranks)
      if (rank.rank) ranks.emplace(*rank.rank, &rank);
    for (const NcclRank& rank : communicator.ranks)
      for (const NcclConnection& connection : rank.connections)
        if (connection.from < node_of_.size() && connection.to < node_of_.size())
          transport(connection, ranks);
  }

  void transport(const NcclConnection& connection, const std::map<std::uint32_t, const NcclRank*>& ranks) {
    const bool same_node = node_of_[connection.from] == node_of_[connection.to];
    const bool local = is_p2p(connection.transport) || connection.transport == NcclTransport::kP2pIndirect ||
                       connection.transport == NcclTransport::kShm;
    if (local && !same_node) {
      tell(connection, "on different nodes");
    } else if (is_p2p(connection.transport) && !topologies_.empty()) {
      within_level(connection, ranks);
    } else if (connection.transport == NcclTransport::kNet && same_node && !connection.proxy_rank) {
      needless_net(connection, ranks);
    }
  }

  void tell(const NcclConnection& connection, std::string_view why) {
    if (told_.emplace(connection.from, connection.to).second)
      say(fmt::format("Rank {} to {} goes via {}, {}", connection.from, connection.to, connection.text, why));
  }

  void within_level(const NcclConnection& connection, const std::map<std::uint32_t, const NcclRank*>& ranks) {
    const auto type = path(connection, ranks);
    if (!type || *type <= level(node_of_[connection.from])) return;
    tell(connection, fmt::format("though their path is {} and P2P goes up to {}", label(*type),
                                 label(level(node_of_[connection.from]))));
  }

  // NVLink and not taken: NCCL leaves a node over the network only where P2P and shared memory cannot be.
  void needless_net(const NcclConnection& connection, const std::map<std::uint32_t, const NcclRank*>& ranks) {
    if (!setting(run_, "NCCL_P2P_DISABLE").empty() || !setting(run_, "NCCL_P2P_LEVEL").empty()) return;
    const auto type = path(connection, ranks);
    if (type && *type <= PathType::kNvl) tell(connection, "though they have NVLink");
  }

  // The class of the path between the GPUs of two ranks of one node, in our own picture of it.
  std::optional<PathType> path(const NcclConnection& connection,
                               const std::map<std::uint32_t, const NcclRank*>& ranks) {
    const nccl::System* system = system_of(node_of_[connection.from]);
    if (system == nullptr) return std::nullopt;
    const auto from = gpu_of(*system, ranks, connection.from);
    const auto to = gpu_of(*system, ranks, connection.to);
    if (!from || !to) return std::nullopt;
    return system->path(*from, *to).type;
  }

  static std::optional<std::uint32_t> gpu_of(const nccl::System& system,
                                             const std::map<std::uint32_t, const NcclRank*>& ranks,
                                             std::uint32_t number) {
    const auto rank = ranks.find(number);
    if (rank == ranks.end() || !rank->second->gpu) return std::nullopt;
    const std::uint64_t bus = nccl::bus_number(to_string(*rank->second->gpu));
    for (const std::uint32_t node : system.all(nccl::NodeKind::kGpu))
      if (system.nodes[node].id == bus) return node;
    return std::nullopt;
  }

  const nccl::System* system_of(std::uint32_t node) {
    if (topologies_.empty()) return nullptr;
    const std::size_t index = topologies_.size() == 1 ? 0 : node;
    if (index >= topologies_.size()) return nullptr;
    auto [at, fresh] = systems_.try_emplace(index);
    if (fresh) {
      auto made = nccl::make_system(topologies_[index], {std::string(release(run_)), run_.nodes > 1});
      if (made) at->second = *std::move(made);
    }
    return at->second ? &*at->second : nullptr;
  }

  // NCCL_P2P_LEVEL, its old numbers too, else PXB, and SYS for one or two GPUs of an AMD host
  // (ncclTopoCheckP2p, src/graph/paths.cc).
  PathType level(std::uint32_t node) {
    if (const std::string_view stated = setting(run_, "NCCL_P2P_LEVEL"); !stated.empty()) {
      PathType type{};
      if (nccl::parse_path_type(stated, type)) return type;
      constexpr std::array<PathType, 5> kOld{PathType::kLoc, PathType::kPix, PathType::kPxb, PathType::kPhb,
                                             PathType::kSys};
      return kOld[static_cast<std::size_t>(std::clamp<std::int64_t>(nccl::read_number(stated), 0, 4))];
    }
    if (nccl::read_number(setting(run_, "NCCL_P2P_DISABLE")) == 1) return PathType::kLoc;
    const nccl::System* system = system_of(node);
    if (system == nullptr) return PathType::kSys;
    constexpr int kAmd = 2;  // NCCL_TOPO_CPU_VENDOR_AMD, src/include/graph.h
    constexpr std::size_t kPair = 2;
    const bool amd =
        !system->all(nccl::NodeKind::kCpu).empty() && system->node(nccl::NodeKind::kCpu, 0).vendor == kAmd;
    return amd && system->all(nccl::NodeKind::kGpu).size() <= kPair ? PathType::kSys : PathType::kPxb;
  }

  const model::DryRun& run_;
  std::span<const nccl::Element> topologies_;
  std::vector<std::uint32_t> node_of_;  // by rank
  std::optional<std::uint32_t> most_channels_;
  std::map<std::size_t, std::optional<nccl::System>> systems_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_invariants(const model::DryRun& run,
                                           std::span<const nccl::Element> topologies) {
  return Examiner(run, topologies).run();
}

}  // namespace angio::dryrun
