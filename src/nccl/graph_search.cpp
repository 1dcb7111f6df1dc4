#include "nccl/graph_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"
#include "nccl/channel_search.hpp"

namespace angio::nccl {
namespace {

constexpr int kX86 = 1, kAmd = 2;  // NCCL's numbers, src/include/graph.h

int least_sm(const System& system) {
  int least = system.node(NodeKind::kGpu, 0).sm;
  for (const std::uint32_t gpu : system.all(NodeKind::kGpu))
    least = std::min(least, system.nodes[gpu].sm);
  return least;
}

// The whole of ncclTopoCompute for one graph: which demands are tried in which order.
class GraphSearch {
 public:
  GraphSearch(const System& system, ChannelGraph start, int cross_nic)
      : system_(system), best_(std::move(start)), sm_(least_sm(system)), search_(system) {
    const bool may_cross = system.all(NodeKind::kNet).size() > 1 &&
                           (best_.pattern == Pattern::kRing || best_.pattern == Pattern::kBalancedTree);
    cross_nic_ = may_cross ? cross_nic : 0;
  }

  ChannelGraph run() {
    limits();
    if (!prepare()) return std::move(best_);
    trial_ = best_;
    first_speed();
    while (step()) {
    }
    if (best_.channels == 0 && best_.pattern != Pattern::kNvls) simple_order();
    return std::move(best_);
  }

 private:
  [[nodiscard]] const std::string& version() const { return system_.options.version; }
  [[nodiscard]] bool inter() const { return system_.options.between_nodes; }
  [[nodiscard]] std::int64_t steps(std::string_view name) const {
    return static_cast<std::int64_t>(knowledge::nccl_topology_value(name, version()));
  }

  [[nodiscard]] float figure(std::string_view name) const {
    return static_cast<float>(knowledge::nccl_topology_value(name, version()));
  }

  // The nearest and the farthest path types there are.
  void limits() {
    const auto& gpus = system_.all(NodeKind::kGpu);
    if (gpus.size() > 1) {
      least_intra_ = extreme(NodeKind::kGpu, false);
      most_intra_ = extreme(NodeKind::kGpu, true);
    }
    if (inter()) {
      least_inter_ = extreme(NodeKind::kNet, false);
      most_inter_ = extreme(NodeKind::kNet, true);
      most_intra_ = most_inter_;
    }
    if (sm_ < 90 && !knowledge::nccl_topology_list("net-types-before-sm90", version()).empty())
      most_inter_ = PathType::kSys;
  }

  [[nodiscard]] PathType extreme(NodeKind kind, bool farthest) const {
    PathType found = farthest ? PathType::kLoc : PathType::kSys;
    for (const std::uint32_t gpu : system_.all(NodeKind::kGpu))
      for (const std::uint32_t to : system_.all(kind)) {
        if (gpu == to) continue;
        const PathType type = system_.path(gpu, to).type;
        found = farthest ? std::max(found, type) : std::min(found, type);
      }
    return found;
  }

  // False: there is nothing to search.
  bool prepare() {
    const std::size_t gpus = system_.all(NodeKind::kGpu).size();
    best_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    best_.type_intra = least_intra_;
    best_.type_inter = least_inter_;
    try_same_ = best_.pattern == Pattern::kNvls ? 0 : 1;
    best_.same_channels = try_same_;
    if (best_.pattern == Pattern::kNvls) {
      if (system_.all(NodeKind::kSwitch).empty() || sm_ < 90) return false;
      best_.most_channels =
          static_cast<int>(std::min<std::int64_t>(steps("nvls-heads"), static_cast<std::int64_t>(gpus)));
    }
    if (gpus == 1 && best_.pattern != Pattern::kRing) best_.pattern = Pattern::kTree;
    if (!inter() && best_.pattern == Pattern::kNvls) best_.least_channels = best_.most_channels;
    if (best_.pattern == Pattern::kRing && split_nvlink() && best_.most_channels >= 2 &&
        best_.least_channels == 1)
      best_.least_channels = 2;
    search_.reserve(best_);
    return true;
  }

  // Two groups of GPUs, each joined by NVLink, with something slower between them.
  [[nodiscard]] bool split_nvlink() const {
    const auto& gpus = system_.all(NodeKind::kGpu);
    std::vector<std::size_t> domain(gpus.size());
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
      domain[gpu] = gpu;
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
      for (std::size_t peer = gpu + 1; peer < gpus.size(); ++peer)
        if (system_.path(gpus[gpu], gpus[peer]).type == PathType::kNvl) domain[peer] = domain[gpu];
    std::vector<int> members(gpus.size());
    for (const std::size_t each : domain)
      ++members[each];
    return std::ranges::count_if(members, [](int count) { return count > 1; }) == 2;
  }

  [[nodiscard]] std::span<const double> candidates() const {
    const std::string name = inter() ? "speeds-inter" : "speeds-intra";
    if (sm_ >= 100) {
      const auto list = knowledge::nccl_topology_list(name + "-sm100", version());
      if (!list.empty()) return list;
    }
    if (sm_ >= 90) {
      const auto list = knowledge::nccl_topology_list(name + "-sm90", version());
      if (!list.empty()) return list;
    }
    return knowledge::nccl_topology_list(name, version());
  }

  [[nodiscard]] float speed() const { return static_cast<float>(speeds_[speed_]); }
  [[nodiscard]] bool slower_left() const { return speed_ + 1 < speeds_.size(); }
  void demand(float bandwidth) { trial_.bandwidth_intra = trial_.bandwidth_inter = bandwidth; }

  void first_speed() {
    speeds_ = candidates();
    float total = system_.total_bandwidth;
    const auto devices = static_cast<double>(system_.all(NodeKind::kGpu).size());
    if (devices > 1 && best_.pattern != Pattern::kRing)
      total = static_cast<float>(static_cast<double>(total) * (devices / (devices - 1)));
    speed_ = 0;
    while ((speed() > system_.max_bandwidth || speed() * static_cast<float>(best_.least_channels) > total) &&
           slower_left())
      ++speed_;
    demand(speed());
    budget_ = steps("search-steps");
  }

  void skip_faster_than(float bandwidth) {
    speed_ = 0;
    while (speed() > bandwidth && slower_left())
      ++speed_;
    demand(speed());
  }

  // One search and the choice of the next demands; false when all is done.
  bool step() {
    time_ = steps(trial_.same_channels != 0 ? "search-steps-same" : "search-steps-one");
    trial_.channels = 0;
    budget_ -= time_;
    search_.run(trial_, best_, time_);
    const bool done =
        time_ == -1 || static_cast<float>(best_.channels) * best_.bandwidth_inter >= system_.total_bandwidth;
    if (pass_ == 1 && !done && loosen()) return true;
    if (pass_ == 1) second_pass();
    return raise();
  }

  // First pass: no solution yet, or not the best one. True: search again with these demands.
  bool loosen() {
    const SystemNode& cpu = system_.node(NodeKind::kCpu, 0);
    const bool amd_sys = cpu.arch == kX86 && cpu.vendor == kAmd && trial_.type_intra == PathType::kSys;
    if (trial_.same_channels == 1 && !amd_sys) {
      trial_.same_channels = 0;
      return true;
    }
    trial_.same_channels = try_same_;
    budget_ += time_;
    if (budget_ < 0 && best_.channels > 0) return false;
    if (sm_ >= 90 && trial_.pattern == Pattern::kBalancedTree) {
      trial_.pattern = Pattern::kTree;
      return true;
    }
    trial_.pattern = best_.pattern;
    return farther() || slower();
  }

  static bool widen(PathType& type) {
    type = static_cast<PathType>(static_cast<int>(type) + 1);
    return type < PathType::kDis;
  }

  bool farther() {
    const PathType most = inter() ? trial_.type_inter : most_intra_;
    if (trial_.type_intra < most && (best_.channels == 0 || trial_.type_intra < best_.type_intra) &&
        widen(trial_.type_intra))
      return true;
    trial_.type_intra = least_intra_;
    const bool worth =
        best_.channels == 0 || trial_.type_inter < best_.type_inter || trial_.type_inter < PathType::kPxn;
    if (inter() && trial_.type_inter < most_inter_ && worth && widen(trial_.type_inter)) return true;
    trial_.type_inter = least_inter_;
    const bool rings = best_.pattern == Pattern::kRing || best_.pattern == Pattern::kBalancedTree;
    if (cross_nic_ == 2 && trial_.cross_nic == 0 && rings) {
      trial_.cross_nic = 2;
      return true;
    }
    trial_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    return false;
  }

  bool slower() {
    const double worth = knowledge::nccl_topology_value("slower-worth", version());
    if (slower_left() && (best_.channels == 0 || static_cast<double>(static_cast<float>(speeds_[speed_ + 1]) /
                                                                     best_.bandwidth_inter) > worth)) {
      ++speed_;
      demand(speed());
      return true;
    }
    skip_faster_than(system_.max_bandwidth);
    return false;
  }

  void second_pass() {
    time_ = -1;
    duplicate();
    trial_ = best_;
    skip_faster_than(best_.bandwidth_inter);
    trial_.least_channels = best_.channels;
    pass_ = 2;
  }

  // Fast channels are cut in two, so that more of the GPU works on them (ncclTopoDupChannels).
  void duplicate() {
    const float fast = figure("duplicate-from");
    const float very_fast = figure("duplicate-many-from");
    if (best_.channels == 0 || best_.pattern == Pattern::kNvls || best_.bandwidth_intra < fast) return;
    if (sm_ > 80 && best_.bandwidth_intra < very_fast && best_.channels > 4) return;
    const int doubled = std::min(best_.channels * 2, best_.most_channels);
    const auto gpus = static_cast<int>(system_.all(NodeKind::kGpu).size());
    for (int channel = best_.channels; channel < doubled; ++channel) {
      const int from = channel - best_.channels;
      std::copy_n(best_.intra.begin() + from * gpus, gpus, best_.intra.begin() + channel * gpus);
      std::copy_n(best_.inter.begin() + from * 2, 2, best_.inter.begin() + channel * 2);
    }
    const auto parts = static_cast<float>((doubled + best_.channels - 1) / best_.channels);
    best_.bandwidth_intra /= parts;
    best_.bandwidth_inter /= parts;
    best_.channels = doubled;
  }

  // Second pass: the same channels, faster.
  bool raise() {
    if (time_ == 0 || speed_ == 0) return false;
    if (best_.pattern == Pattern::kRing) {
      demand(static_cast<float>(speeds_[--speed_]));
      return true;
    }
    if (best_.pattern == Pattern::kNvls && knowledge::nccl_topology_list("nvls-raise", version()).empty())
      return false;
    if (best_.pattern == Pattern::kNvls && trial_.bandwidth_inter == best_.bandwidth_inter &&
        trial_.bandwidth_inter < trial_.bandwidth_intra * 2) {
      trial_.least_channels = trial_.most_channels = best_.channels;
      trial_.bandwidth_inter = static_cast<float>(speeds_[--speed_]);
      return true;
    }
    if (trial_.bandwidth_intra == best_.bandwidth_intra &&
        trial_.bandwidth_intra < trial_.bandwidth_inter * 2) {
      trial_.bandwidth_intra = static_cast<float>(speeds_[--speed_]);
      return true;
    }
    return false;
  }

  void simple_order() {
    const auto& gpus = system_.all(NodeKind::kGpu);
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
      best_.intra[gpu] = static_cast<std::uint32_t>(gpu);
    const float token = figure("fallback-speed");
    best_.bandwidth_intra = token;
    best_.type_intra = PathType::kSys;
    const auto& first = system_.nodes[gpus.front()].near_nets;
    const auto& last = system_.nodes[gpus.back()].near_nets;
    const bool nets = !first.empty() && !last.empty();
    best_.inter[0] = nets ? first.front() : kNone;
    best_.inter[1] = nets ? last.front() : kNone;
    best_.bandwidth_inter = nets ? token : 0;
    best_.type_inter = nets ? PathType::kSys : PathType::kDis;
    best_.channels = 1;
    best_.simple_order = true;
  }

  const System& system_;
  ChannelGraph best_;
  ChannelGraph trial_;
  int sm_;
  ChannelSearch search_;
  int cross_nic_ = 0;
  int try_same_ = 1;
  int pass_ = 1;
  PathType least_intra_ = PathType::kLoc;
  PathType most_intra_ = PathType::kSys;
  PathType least_inter_ = PathType::kPix;
  PathType most_inter_ = PathType::kSys;
  std::span<const double> speeds_;
  std::size_t speed_ = 0;
  std::int64_t budget_ = 0;
  std::int64_t time_ = 0;
};

ChannelGraph find(const System& system, int id, Pattern pattern, int least, int most, int cross_nic) {
  ChannelGraph start;
  start.id = id;
  start.pattern = pattern;
  start.least_channels = least;
  start.most_channels = most;
  return GraphSearch(system, std::move(start), cross_nic).run();
}

}  // namespace

std::string_view label(Pattern pattern) {
  switch (pattern) {
    case Pattern::kBalancedTree:
      return "balanced tree";
    case Pattern::kSplitTree:
      return "split tree";
    case Pattern::kTree:
      return "tree";
    case Pattern::kRing:
      return "ring";
    case Pattern::kNvls:
      return "NVLS";
    case Pattern::kCollnetDirect:
      return "CollNet direct";
  }
  return "?";
}

SearchResult search_graphs(const System& system, int cross_nic) {
  // 2 lets the search decide; the first releases that know it never cross.
  if (cross_nic == 2 && knowledge::nccl_topology_list("cross-nic-search", system.options.version).empty())
    cross_nic = 0;
  const auto most = static_cast<int>(knowledge::nccl_topology_value("channels", system.options.version)) / 2;
  SearchResult result;
  if (system.all(NodeKind::kGpu).size() > kMostSearched) return result;
  result.ring = find(system, kRingGraph, Pattern::kRing, 1, most, cross_nic);
  const int channels = result.ring.channels;
  result.tree = find(system, kTreeGraph, Pattern::kBalancedTree, channels, channels, cross_nic);
  result.nvls.id = kNvlsGraph;
  result.nvls.pattern = Pattern::kNvls;
  result.nvls.type_inter = PathType::kLoc;
  result.nvls.same_channels = 0;
  // NCCL asks the driver for multicast first, which GPUs before Hopper do not have.
  if (least_sm(system) >= 90) result.nvls = find(system, kNvlsGraph, Pattern::kNvls, 1, most, cross_nic);
  return result;
}

std::vector<std::string> nccl_lines(const System& system, const ChannelGraph& graph) {
  std::vector<std::string> lines{fmt::format(
      "Pattern {}, crossNic {}, nChannels {}, bw {:f}/{:f}, type {}/{}, sameChannels {}",
      static_cast<int>(graph.pattern), graph.cross_nic, graph.channels, graph.bandwidth_intra,
      graph.bandwidth_inter, label(graph.type_intra), label(graph.type_inter), graph.same_channels)};
  const std::size_t gpus = system.all(NodeKind::kGpu).size();
  for (int channel = 0; channel < graph.channels; ++channel) {
    const auto at = static_cast<std::size_t>(channel);
    std::string line = fmt::format("{:2d} :", channel);
    if (system.options.between_nodes)
      line += " " + nccl_name(system.node(NodeKind::kNet, graph.inter[at * 2]));
    const std::size_t shown = graph.pattern == Pattern::kNvls ? 1 : gpus;
    for (std::size_t gpu = 0; gpu < shown; ++gpu)
      line += " " + nccl_name(system.node(NodeKind::kGpu, graph.intra[at * gpus + gpu]));
    if (system.options.between_nodes)
      line += " " + nccl_name(system.node(NodeKind::kNet, graph.inter[at * 2 + 1]));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace angio::nccl
