#include "nccl/channel_search.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "knowledge/nccl_topology.hpp"

namespace angio::nccl {
namespace {

constexpr std::size_t kTypes = static_cast<std::size_t>(PathType::kDis) + 1;
constexpr int kX86 = 1, kPower = 2, kIntel = 1;  // NCCL's numbers, src/include/graph.h

// As NCCL's SUB_ROUND: single precision drifts otherwise.
void subtract(float& from, float amount) {
  from = std::roundf((from - amount) * 1000) / 1000;
}

// Whole GB/s, as NCCL compares; -1 is none.
constexpr unsigned kBandwidthBits = 13;
constexpr unsigned kHopBits = 8;
std::uint64_t more_first(float bandwidth) {
  constexpr float kMost = 8190;  // above NCCL's 5000 GB/s of local links
  return static_cast<std::uint64_t>(kMost - std::trunc(std::clamp(bandwidth, -1.0F, kMost)));
}
std::uint64_t few_first(std::size_t count) {
  return std::min<std::size_t>(count, 255);
}

bool is_tree(Pattern pattern) {
  return pattern == Pattern::kBalancedTree || pattern == Pattern::kTree || pattern == Pattern::kSplitTree;
}

}  // namespace

ChannelSearch::ChannelSearch(const System& system)
    : system_(system), gpus_(system.all(NodeKind::kGpu)), nets_(system.all(NodeKind::kNet)) {
  for (const SystemLink& link : system.links) {
    left_.push_back(link.bandwidth);
    const auto& back = system.nodes[link.to].links;
    const auto found = std::ranges::find_if(back, [&](std::uint32_t each) {
      return system.links[each].to == link.from && system.links[each].kind == link.kind;
    });
    reverse_.push_back(found == back.end() ? kNone : *found);
  }
  for (const std::uint32_t net : nets_) {
    net_left_.push_back(system.nodes[net].bandwidth);
    std::vector<std::uint32_t> near;
    float bandwidth = 0;
    PathType type = PathType::kDis;
    for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      const Path& path = system.path(net, gpus_[gpu]);
      if (path.bandwidth > bandwidth || (path.bandwidth == bandwidth && path.type < type)) {
        std::tie(bandwidth, type) = std::pair(path.bandwidth, path.type);
        near.clear();
      }
      if (path.bandwidth == bandwidth && path.type == type && type != PathType::kDis) near.push_back(gpu);
    }
    near_gpus_.push_back(std::move(near));
  }
  used_.assign(gpus_.size(), 0);
  const auto value = [&](std::string_view name, std::size_t at) {
    const auto list = knowledge::nccl_topology_list(name, system.options.version);
    return at < list.size() ? static_cast<float>(list[at]) : 1.0F;
  };
  intel_ = {value("intel-p2p", 0), value("intel-p2p", 1)};
  read_requests_ = value("read-requests", 0);
  net_lists_.resize((gpus_.size() + 1) * kTypes);
  net_lists_made_.resize(net_lists_.size());
}

void ChannelSearch::reserve(ChannelGraph& graph) const {
  const auto most = static_cast<std::size_t>(std::max(graph.most_channels, 1));
  graph.intra.assign(most * gpus_.size(), 0);
  graph.inter.assign(most * 2, kNone);
}

void ChannelSearch::run(ChannelGraph& trial, ChannelGraph& best, std::int64_t& time) {
  trial_ = &trial;
  best_ = &best;
  time_ = &time;
  channel();
}

// Another channel of the trial.
void ChannelSearch::channel() {
  Walk walk;
  const auto last = static_cast<int>(gpus_.size()) - 1;
  if (system_.options.between_nodes) {
    walk.back_to_net = trial_->pattern == Pattern::kRing        ? last
                       : trial_->pattern == Pattern::kSplitTree ? 1
                                                                : 0;
    from_nets(walk);
    return;
  }
  if (trial_->pattern == Pattern::kRing) walk.back_to_first = last;
  if (trial_->pattern == Pattern::kNvls) {
    try_gpu(kNone, static_cast<std::uint32_t>(trial_->channels), 0, walk);
    return;
  }
  const bool first = trial_->channels == 0;
  walk.order = first ? Order::kPci : Order::kReplay;
  try_gpu(kNone, first ? 0 : replayed(0), 0, walk);
  if (trial_->same_channels != 0 && !first) return;
  walk.order = Order::kSearch;
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu)
    try_gpu(kNone, gpu, 0, walk);
}

// Which GPU the last channel had at this step.
std::uint32_t ChannelSearch::replayed(std::size_t step) const {
  return trial_->intra[static_cast<std::size_t>(trial_->channels - 1) * gpus() + step];
}

void ChannelSearch::from_nets(const Walk& walk) {
  const std::vector<std::uint32_t>& nets = nets_to_try(kNone);
  bool found = false;
  for (std::size_t index = 0; index < nets.size() && !found; ++index) {
    const std::uint32_t net = nets[(static_cast<std::size_t>(trial_->channels) + index) % nets.size()];
    from_net(net, nets.size(), walk, found);
  }
}

void ChannelSearch::from_net(std::uint32_t net, std::size_t candidates, const Walk& walk, bool& found) {
  const float bandwidth = std::trunc(trial_->bandwidth_inter);  // an int in NCCL
  if (net_left_[net] < bandwidth) return;
  const bool odd_ring =
      trial_->pattern == Pattern::kRing && trial_->cross_nic == 2 && (trial_->channels & 1) != 0;
  if (odd_ring && net != trial_->inter[net_cell(*trial_) - 1]) return;
  trial_->inter[net_cell(*trial_)] = net;
  trial_->latency_inter = system_.nodes[nets_[net]].latency;
  share_port(net, bandwidth);
  if (trial_->pattern == Pattern::kNvls) {
    found = start_head(net, candidates, walk);
  } else {
    start_at_net(net, walk);
  }
  share_port(net, -bandwidth);
}

// All NICs of one port of one card share its bandwidth.
void ChannelSearch::share_port(std::uint32_t net, float bandwidth) {
  const SystemNode& taken = system_.nodes[nets_[net]];
  for (std::size_t each = 0; each < nets_.size(); ++each) {
    const SystemNode& other = system_.nodes[nets_[each]];
    if (other.asic == taken.asic && other.port == taken.port) net_left_[each] -= bandwidth;
  }
}

// NVLS only pairs each NIC with a GPU that has none yet.
bool ChannelSearch::start_head(std::uint32_t net, std::size_t candidates, const Walk& walk) {
  const std::uint32_t gpu = system_.nodes[nets_[net]].local_gpu;
  if (static_cast<std::size_t>(trial_->channels) >= candidates || gpu == kNone) return false;
  for (int channel = 0; channel < trial_->channels; ++channel)
    if (trial_->intra[static_cast<std::size_t>(channel) * gpus()] == gpu) return false;
  try_gpu(nets_[net], gpu, 0, walk);
  return true;
}

void ChannelSearch::start_at_net(std::uint32_t net, const Walk& walk) {
  Walk next = walk;
  if (trial_->channels > 0 && trial_->same_channels == 1) {
    next.order = Order::kReplay;
    try_gpu(nets_[net], replayed(0), 0, next);
    return;
  }
  if (trial_->channels == 0 && system_.all(NodeKind::kSwitch).empty()) {
    // PCI order first, on steps of its own.
    auto few = static_cast<std::int64_t>(
        knowledge::nccl_topology_value("search-steps-pci-order", system_.options.version));
    std::int64_t* const all = time_;
    time_ = &few;
    next.order = Order::kPci;
    try_gpu(nets_[net], 0, 0, next);
    time_ = all;
    if (few == -1) *time_ = -1;
  }
  next.order = Order::kSearch;
  const std::uint32_t local = system_.nodes[nets_[net]].local_gpu;
  if (local != kNone) try_gpu(nets_[net], local, 0, next);
  for (const std::uint32_t gpu : near_gpus_[net])
    if (gpu != local) try_gpu(nets_[net], gpu, 0, next);
}

// from: a node, or kNone at the beginning of a channel inside one node. gpu: index among the GPUs.
void ChannelSearch::try_gpu(std::uint32_t from, std::uint32_t gpu, std::size_t step, const Walk& walk) {
  if (from != kNone && !follow(from, gpus_[gpu], 1)) return;
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(trial_->channels);
  used_[gpu] ^= bit;
  at_gpu(gpu, step, walk);
  used_[gpu] ^= bit;
  if (from != kNone) follow(from, gpus_[gpu], -1);
}

void ChannelSearch::at_gpu(std::uint32_t gpu, std::size_t step, const Walk& walk) {
  if (*time_ <= 0) return;
  --*time_;
  if (step == gpus_.size()) {
    finish();
    return;
  }
  trial_->intra[cell(*trial_, step)] = gpu;
  if (static_cast<int>(step) == walk.back_to_net) {
    if (system_.options.between_nodes) back_to_net(gpu, step, walk);
  } else if (trial_->pattern == Pattern::kNvls) {
    nvls_head(gpu);
  } else if (step + 1 < gpus_.size()) {
    onwards(gpu, step, walk);
  } else if (static_cast<int>(step) == walk.back_to_first) {
    close_ring(gpu, step, walk);
  } else {
    at_gpu(gpu, gpus_.size(), {-1, -1, walk.order});
  }
}

// A channel is complete: keep the trial if it is better, and look for another channel.
void ChannelSearch::finish() {
  ++trial_->channels;
  if (better()) {
    *best_ = *trial_;
    if (trial_->channels == trial_->most_channels) *time_ = -1;
  }
  if (trial_->channels < trial_->most_channels) channel();
  --trial_->channels;
}

bool ChannelSearch::better() const {
  if (trial_->channels < trial_->least_channels) return false;
  const auto channels = static_cast<float>(trial_->channels);
  const auto before = static_cast<float>(best_->channels);
  if (trial_->pattern == Pattern::kNvls) {
    const bool more =
        trial_->channels > best_->channels && trial_->channels <= static_cast<int>(gpus_.size());
    return more || channels * trial_->bandwidth_inter > before * best_->bandwidth_inter;
  }
  if (channels * trial_->bandwidth_intra != before * best_->bandwidth_intra)
    return channels * trial_->bandwidth_intra > before * best_->bandwidth_intra;
  return trial_->pattern == best_->pattern && trial_->cross_nic == best_->cross_nic &&
         trial_->hops < best_->hops;
}

bool ChannelSearch::may_return(std::uint32_t start, std::uint32_t net, std::size_t step) const {
  const SystemNode& in = system_.nodes[nets_[start]];
  const SystemNode& out = system_.nodes[nets_[net]];
  if (in.plane != -1 && out.plane != -1 && in.plane != out.plane) return false;
  if (trial_->pattern == Pattern::kTree && net != start) return false;
  if (trial_->pattern == Pattern::kRing && trial_->cross_nic == 2) {
    if ((trial_->channels & 1) != 0 && net != trial_->inter[net_cell(*trial_) - 2]) return false;
  } else if (trial_->cross_nic == 0) {
    const bool rails = in.rail != -1 && out.rail != -1;
    if (rails ? in.rail != out.rail : in.asic != out.asic || in.port != out.port) return false;
  }
  return trial_->pattern != Pattern::kBalancedTree || step == 0 ||
         net == trial_->inter[net_cell(*trial_) + 1];
}

void ChannelSearch::back_to_net(std::uint32_t gpu, std::size_t step, const Walk& walk) {
  const std::uint32_t start = trial_->inter[net_cell(*trial_)];
  const bool balanced = trial_->pattern == Pattern::kBalancedTree;
  Walk next = walk;
  next.back_to_net = balanced && step == 0 ? 1 : -1;  // a balanced tree uses the NIC from its first two GPUs
  for (const std::uint32_t net : nets_to_try(gpu)) {
    if (!may_return(start, net, step)) continue;
    const float full = trial_->bandwidth_inter;
    if (balanced) trial_->bandwidth_inter = full / 2;
    const bool there = follow(gpus_[gpu], nets_[net], 1);
    trial_->bandwidth_inter = full;
    if (!there) continue;
    trial_->inter[net_cell(*trial_) + 1] = net;
    at_gpu(gpu, step, next);
    if (balanced) trial_->bandwidth_inter = full / 2;
    follow(gpus_[gpu], nets_[net], -1);
    trial_->bandwidth_inter = full;
  }
}

void ChannelSearch::onwards(std::uint32_t gpu, std::size_t step, const Walk& walk) {
  if (walk.order == Order::kPci) {
    try_gpu(gpus_[gpu], static_cast<std::uint32_t>(step + 1), step + 1, walk);
  } else if (walk.order == Order::kReplay) {
    if (trial_->channels > 0) try_gpu(gpus_[gpu], replayed(step + 1), step + 1, walk);
  } else {
    const int to_net = walk.back_to_net;
    const GpuList next = next_gpus(gpu, to_net == -1 ? 0 : to_net == static_cast<int>(step) + 1 ? 1 : -1);
    for (std::size_t each = 0; each < next.count; ++each)
      try_gpu(gpus_[gpu], next.gpus[each], step + 1, walk);
  }
}

void ChannelSearch::close_ring(std::uint32_t gpu, std::size_t step, Walk walk) {
  const std::uint32_t first = trial_->intra[cell(*trial_, 0)];
  walk.back_to_first = -1;
  const bool alone = gpu == first;
  if (!alone && !follow(gpus_[gpu], gpus_[first], 1)) return;
  at_gpu(first, step + 1, walk);
  if (!alone) follow(gpus_[gpu], gpus_[first], -1);
}

// One GPU pulls from all through the NVSwitch: twice on its own links, once on those of the others.
void ChannelSearch::nvls_head(std::uint32_t gpu) {
  const std::uint32_t nvs = system_.all(NodeKind::kSwitch).front();
  std::size_t down = 0;
  std::size_t up = 0;
  const auto factor = [&](std::size_t each) { return each == gpu ? 2.0F : 1.0F; };
  while (down < gpus_.size() && follow(nvs, gpus_[down], factor(down)))
    ++down;
  if (down == gpus_.size()) {
    while (up < gpus_.size() && follow(gpus_[up], nvs, factor(up)))
      ++up;
    if (up == gpus_.size()) at_gpu(gpu, gpus_.size(), {});
  }
  while (up > 0) {
    --up;
    follow(gpus_[up], nvs, -factor(up));
  }
  while (down > 0) {
    --down;
    follow(nvs, gpus_[down], -factor(down));
  }
}

float ChannelSearch::pci_bandwidth(std::uint32_t gpu) const {
  const SystemNode& node = system_.nodes[gpus_[gpu]];
  const SystemNode& device = node.parent == kNone ? node : system_.nodes[node.parent];
  for (const std::uint32_t link : device.links) {
    if (system_.links[link].kind != LinkKind::kPci || reverse_[link] == kNone) continue;
    return std::min(left_[link], left_[reverse_[link]]);
  }
  return -1;
}

// Best first. sort_nets: 1 nearest to the NIC first, -1 farthest where the GPUs are alike, 0 never mind.
// The order of NCCL's cmpScore: bandwidth to the NIC, of its PCI link, hops to it, bandwidth to the GPU,
// hops, distance in the list.
ChannelSearch::GpuList ChannelSearch::next_gpus(std::uint32_t gpu, int sort_nets) {
  if (!system_.all(NodeKind::kSwitch).empty()) return next_neighbours(gpu);
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(trial_->channels);
  scores_.clear();
  for (std::size_t i = 1; i < gpus_.size(); ++i) {
    const auto other = static_cast<std::uint32_t>((gpu + i) % gpus_.size());
    const Path& path = system_.path(gpus_[gpu], gpus_[other]);
    if (path.hops.empty() || (used_[other] & bit) != 0) continue;
    std::uint64_t key = 0;
    if (sort_nets != 0) {
      const Path& net = system_.path(nets_[trial_->inter[net_cell(*trial_)]], gpus_[other]);
      key = more_first(net.bandwidth);
      key = key << kBandwidthBits | more_first(pci_bandwidth(other));
      key = key << kHopBits | few_first(net.hops.size());
    }
    const std::uint64_t intra = more_first(path.bandwidth) << kHopBits | few_first(path.hops.size());
    key = key << (kBandwidthBits + kHopBits) | intra;
    scores_.push_back({key << kHopBits | few_first(i), intra, other});
  }
  std::ranges::sort(scores_, {}, &Score::key);
  const bool alike =
      std::ranges::all_of(scores_, [&](const Score& score) { return score.intra == scores_.front().intra; });
  const bool backwards = sort_nets == -1 && alike;
  GpuList next;
  for (std::size_t i = 0; i < scores_.size(); ++i)
    next.add(scores_[backwards ? scores_.size() - 1 - i : i].gpu);
  return next;
}

// Behind an NVSwitch only the neighbours are tried: all are alike, and few peers are better. NCCL puts each
// in front of the list, so that the last of them comes first.
ChannelSearch::GpuList ChannelSearch::next_neighbours(std::uint32_t gpu) const {
  const std::size_t count = gpus_.size();
  const auto before = static_cast<std::uint32_t>((gpu + count - 1) % count);
  const auto behind = static_cast<std::uint32_t>((gpu + 1) % count);
  std::array<std::uint32_t, 2> wanted{behind, before};
  std::size_t most = 1;
  if (trial_->pattern == Pattern::kRing) most = 2;
  if (trial_->pattern == Pattern::kSplitTree || trial_->pattern == Pattern::kBalancedTree) {
    wanted = {before, behind};
    most = 2;
  }
  if (before == behind) most = 1;
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(trial_->channels);
  GpuList next;
  for (std::size_t at = most; at > 0; --at) {
    const std::uint32_t other = wanted[at - 1];
    if (other == gpu || (used_[other] & bit) != 0 || system_.path(gpus_[gpu], gpus_[other]).hops.empty())
      continue;
    next.add(other);
  }
  return next;
}

const std::vector<std::uint32_t>& ChannelSearch::nets_to_try(std::uint32_t gpu) {
  const std::size_t row = gpu == kNone ? gpus_.size() : gpu;
  const std::size_t at = row * kTypes + static_cast<std::size_t>(trial_->type_inter);
  if (!net_lists_made_[at]) net_lists_[at] = nets_up_to(gpu, trial_->type_inter);
  net_lists_made_[at] = true;
  return net_lists_[at];
}

// The preferred NICs of one GPU (kNone: of all), then any other that is near enough.
std::vector<std::uint32_t> ChannelSearch::nets_up_to(std::uint32_t gpu, PathType most) const {
  std::vector<std::uint32_t> nets;
  std::vector<bool> listed(nets_.size());
  const auto add = [&](std::uint32_t net) {
    if (!listed[net]) nets.push_back(net);
    listed[net] = true;
  };
  const auto each_gpu = [&](const auto& take) {
    for (std::uint32_t g = 0; g < gpus_.size(); ++g)
      if (gpu == kNone || gpu == g) take(g);
  };
  each_gpu([&](std::uint32_t g) { std::ranges::for_each(system_.nodes[gpus_[g]].near_nets, add); });
  for (int type = 0; type <= static_cast<int>(most) && nets.size() < nets_.size(); ++type)
    each_gpu([&](std::uint32_t g) {
      for (std::uint32_t net = 0; net < nets_.size(); ++net)
        if (static_cast<int>(system_.path(gpus_[g], nets_[net]).type) == type) add(net);
    });
  return nets;
}

bool ChannelSearch::follow(std::uint32_t from, std::uint32_t to, float factor) {
  const auto inside = [&](std::uint32_t node) {
    return system_.nodes[node].kind == NodeKind::kGpu || system_.nodes[node].kind == NodeKind::kSwitch;
  };
  const bool intra = inside(from) && inside(to);
  const PathType most = intra ? trial_->type_intra : trial_->type_inter;
  const Path& path = system_.path(from, to);
  if (path.type >= PathType::kDis) return false;
  if (factor == 1) {
    if (path.type > most) return false;
    if (is_tree(trial_->pattern) && system_.path(to, from).type > most) return false;
  }
  const float bandwidth = (intra ? trial_->bandwidth_intra : trial_->bandwidth_inter) * factor;
  const std::size_t went = take(path, from, path.hops.size(), bandwidth);
  if (went < path.hops.size()) {
    static_cast<void>(take(path, from, went, -bandwidth));
    return false;
  }
  trial_->hops =
      static_cast<int>(static_cast<float>(trial_->hops) + factor * static_cast<float>(path.hops.size()));
  return true;
}

// What the other direction of a link has to carry besides; null when nothing.
float* ChannelSearch::reverse_need(const SystemLink& link, std::uint32_t start, float bandwidth,
                                   float& need) {
  const SystemNode& to = system_.nodes[link.to];
  const bool end =
      system_.nodes[gpus_.front()].parent == kNone ? to.kind == NodeKind::kGpu : to.kind == NodeKind::kDevice;
  if (end && to.sm < 80 && system_.nodes[start].kind != NodeKind::kGpu) need += bandwidth / read_requests_;
  if (to.kind == NodeKind::kCpu && to.arch == kPower && link.kind == LinkKind::kNvlink) need += bandwidth;
  const auto index = static_cast<std::size_t>(&link - system_.links.data());
  return need == 0 || reverse_[index] == kNone ? nullptr : &left_[reverse_[index]];
}

// How many of the steps had the bandwidth; it is taken from those. Negative bandwidth gives back.
std::size_t ChannelSearch::take(const Path& path, std::uint32_t start, std::size_t steps, float bandwidth) {
  float pci = bandwidth;
  if (path.type == PathType::kPhb && system_.nodes[start].kind == NodeKind::kGpu) {
    for (const std::uint32_t hop : path.hops) {
      const SystemNode& node = system_.nodes[system_.links[hop].to];
      if (node.kind == NodeKind::kCpu && node.arch == kX86 && node.vendor == kIntel)
        pci = bandwidth * intel_[0] / intel_[1];  // the host bridge cuts into small packets
    }
  }
  for (std::size_t step = 0; step < steps; ++step) {
    const std::uint32_t index = path.hops[step];
    const SystemLink& link = system_.links[index];
    const float forward = link.kind == LinkKind::kPci ? pci : bandwidth;
    float need = 0;
    float* const back = reverse_need(link, start, forward, need);
    if (left_[index] < forward || (back != nullptr && *back < need)) return step;
    subtract(left_[index], forward);
    if (back != nullptr) subtract(*back, need);
  }
  return steps;
}

}  // namespace angio::nccl
