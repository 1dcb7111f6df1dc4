#include "nccl/system_paths.hpp"

#include <algorithm>

#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"

namespace angio::nccl {
namespace {

constexpr int kX86 = 1, kAmd = 2;      // NCCL's numbers, src/include/graph.h
constexpr std::size_t kChannels = 64;  // MAXCHANNELS; how often a GPU's NICs are asked for at most

PathType type_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::kNvlink:
      return PathType::kNvl;
    case LinkKind::kC2c:
      return PathType::kC2c;
    case LinkKind::kPci:
      return PathType::kPix;
    case LinkKind::kSys:
      return PathType::kSys;
    case LinkKind::kLocal:
    case LinkKind::kNet:  // only the part of the path inside the host counts
      break;
  }
  return PathType::kLoc;
}

class Paths {
 public:
  explicit Paths(System& system)
      : system_(system),
        gate_(at_least("2.30") ? NodeKind::kDevice : NodeKind::kGpu),
        p2c_(at_least("2.27")) {}

  void compute() {
    system_.paths.assign(system_.nodes.size() * system_.nodes.size(), Path{});
    for (const NodeKind kind :
         {NodeKind::kCpu, NodeKind::kDevice, NodeKind::kGpu, NodeKind::kNet, NodeKind::kSwitch})
      for (const std::uint32_t node : system_.all(kind))
        reach(node);
    divert_pairs();
    find_domains();
    if (p2c_) mark_chip_to_chip();
    for (const std::uint32_t net : system_.all(NodeKind::kNet))
      for (const std::uint32_t gpu : system_.all(NodeKind::kGpu))
        settle_nic(gpu, net);
    for (const std::uint32_t net : system_.all(NodeKind::kNet))
      system_.nodes[net].local_gpu = local_gpu(net);
    for (const std::uint32_t gpu : gpus())
      for (const std::uint32_t net : nets_of(gpu))
        system_.nodes[gpu].near_nets.push_back(system_.nodes[net].index);
    sum_up();
  }

 private:
  [[nodiscard]] bool at_least(std::string_view version) const {
    return knowledge::compare_versions(system_.options.version, version).value_or(1) >= 0;
  }
  [[nodiscard]] const std::vector<std::uint32_t>& gpus() const { return system_.all(NodeKind::kGpu); }

  // Breadth first from the base outwards; the path of each node leads back to the base.
  void reach(std::uint32_t base) {
    Path& own = system_.path(base, base);
    own.type = PathType::kLoc;
    own.bandwidth = static_cast<float>(knowledge::nccl_topology_value("local", system_.options.version));
    std::vector<std::uint32_t> now{base};
    std::vector<std::uint32_t> next;
    while (!now.empty()) {
      next.clear();
      for (const std::uint32_t node : now)
        for (const std::uint32_t link : system_.nodes[node].links)
          extend(base, node, system_.links[link], next);
      now.swap(next);
    }
  }

  // How many hops a path may have when it goes on through a GPU.
  [[nodiscard]] std::size_t reach_of(std::uint32_t base) const {
    return gate_ == NodeKind::kDevice && system_.nodes[base].kind == NodeKind::kGpu ? 2 : 1;
  }

  // A GPU relays NVLink once, and nothing else.
  [[nodiscard]] bool may_pass(std::uint32_t base, std::uint32_t node, const SystemLink& link) const {
    const SystemNode& at = system_.nodes[node];
    const SystemNode& origin = system_.nodes[base];
    const std::uint32_t own =
        gate_ == NodeKind::kDevice && origin.kind == NodeKind::kGpu ? origin.parent : base;
    if (node == own || at.kind != gate_) return true;
    const NodeKind to = system_.nodes[link.to].kind;
    if (gate_ == NodeKind::kDevice && link.kind == LinkKind::kLocal && to == NodeKind::kGpu) return true;
    return link.kind == LinkKind::kNvlink && to == gate_ &&
           system_.path(node, base).hops.size() <= reach_of(base);
  }

  void extend(std::uint32_t base, std::uint32_t node, const SystemLink& link,
              std::vector<std::uint32_t>& next) {
    if (!may_pass(base, node, link)) return;
    const Path& path = system_.path(node, base);
    Path& remote = system_.path(link.to, base);
    const float bandwidth = std::min(path.bandwidth, link.bandwidth);
    const bool shorter = remote.bandwidth == 0 || remote.hops.size() > path.hops.size();
    if (!shorter || remote.bandwidth >= bandwidth) return;
    const auto& back = system_.nodes[link.to].links;
    const auto found = std::ranges::find_if(back, [&](std::uint32_t each) {
      return system_.links[each].to == node && system_.links[each].kind == link.kind;
    });
    if (found == back.end()) return;  // one-way NVLink in the file; NCCL stops with an error
    std::vector<std::uint32_t> hops{*found};
    hops.insert(hops.end(), path.hops.begin(), path.hops.end());
    remote.type = std::max(path.type, hop_type(base, node, link, path, hops.size()));
    remote.hops = std::move(hops);
    remote.bandwidth = bandwidth;
    if (std::ranges::find(next, link.to) == next.end()) next.push_back(link.to);
  }

  [[nodiscard]] PathType hop_type(std::uint32_t base, std::uint32_t node, const SystemLink& link,
                                  const Path& path, std::size_t count) const {
    const NodeKind from = system_.nodes[node].kind;
    const NodeKind to = system_.nodes[link.to].kind;
    PathType type = type_of(link.kind);
    if (from == NodeKind::kPci && to == NodeKind::kPci) type = PathType::kPxb;
    if (link.kind == LinkKind::kPci && (from == NodeKind::kCpu || to == NodeKind::kCpu))
      type = PathType::kPhb;
    if (from == gate_ && path.type == PathType::kNvl && type == PathType::kNvl && count > reach_of(base))
      type = PathType::kNvb;
    return type;
  }

  [[nodiscard]] std::uint32_t nearest_cpu(std::uint32_t gpu) const {
    std::uint32_t nearest = kNone;
    std::size_t hops = 0;
    for (const std::uint32_t cpu : system_.all(NodeKind::kCpu)) {
      const std::size_t count = system_.path(gpu, cpu).hops.size();
      if (count == 0 || (nearest != kNone && count >= hops)) continue;
      nearest = cpu;
      hops = count;
    }
    return nearest;
  }

  [[nodiscard]] PathType merged(PathType one, PathType other) const {
    const PathType far = std::max(one, other);
    if (p2c_ && far == PathType::kPhb && std::min(one, other) == PathType::kC2c) return PathType::kP2c;
    return far;
  }

  // From → through → to in place of the direct path.
  void go_through(std::uint32_t through, std::uint32_t from, std::uint32_t to) {
    const Path first = system_.path(from, through);
    const Path second = system_.path(through, to);
    Path& path = system_.path(from, to);
    path.hops = first.hops;
    path.hops.insert(path.hops.end(), second.hops.begin(), second.hops.end());
    const bool gpu = system_.nodes[through].kind == NodeKind::kGpu;
    path.type = gpu ? PathType::kPxn : merged(first.type, second.type);
    path.via = gpu ? through : kNone;
    path.bandwidth = std::min(first.bandwidth, second.bandwidth);
  }

  // GPU pairs farther than the P2P level go through the CPU: NCCL_P2P_LEVEL is PXB unless set.
  void divert_pairs() {
    const auto& cpus = system_.all(NodeKind::kCpu);
    const SystemNode& cpu = system_.nodes[cpus.front()];
    const bool amd_pair = cpu.arch == kX86 && cpu.vendor == kAmd && gpus().size() <= 2;
    const PathType level = amd_pair ? PathType::kSys : PathType::kPxb;
    for (const std::uint32_t to : gpus())
      for (const std::uint32_t from : gpus()) {
        if (system_.path(from, to).type <= level) continue;
        const std::uint32_t near = nearest_cpu(to);
        if (near != kNone) go_through(near, from, to);
      }
  }

  // GB/s to the NICs that are no farther than PCI switches, before it is settled how they are reached.
  [[nodiscard]] float near_net_bandwidth(std::uint32_t gpu) const {
    float most = 0;
    for (const std::uint32_t net : system_.all(NodeKind::kNet))
      if (const Path& path = system_.path(gpu, net); path.type <= PathType::kPxb)
        most = std::max(most, path.bandwidth);
    return most;
  }

  // ncclTopoCheckNet: the network is faster for both than the way between them. ncclTopoTrimSystem joins the
  // rest.
  void find_domains() {
    system_.domains.resize(gpus().size());
    for (std::uint32_t gpu = 0; gpu < gpus().size(); ++gpu) {
      system_.domains[gpu] = gpu;
      const float own = near_net_bandwidth(gpus()[gpu]);
      for (std::uint32_t other = 0; other < gpu; ++other) {
        const float between = system_.path(gpus()[gpu], gpus()[other]).bandwidth;
        if (own > between && near_net_bandwidth(gpus()[other]) > between) continue;
        system_.domains[gpu] = std::min(system_.domains[gpu], system_.domains[other]);
      }
    }
  }

  void mark_chip_to_chip() {
    for (const std::uint32_t gpu : gpus()) {
      const std::uint32_t cpu = nearest_cpu(gpu);
      if (cpu == kNone) continue;
      for (const std::uint32_t net : nearest(gpu, NodeKind::kNet)) {
        const PathType type = merged(system_.path(gpu, cpu).type, system_.path(net, cpu).type);
        if (type != PathType::kP2c) continue;
        system_.path(gpu, net).type = std::min(PathType::kP2c, system_.path(gpu, net).type);
        system_.path(net, gpu).type = std::min(PathType::kP2c, system_.path(net, gpu).type);
      }
    }
  }

  // ncclTopoGetLocal: those with the most bandwidth, and among them with the nearest path.
  [[nodiscard]] std::vector<std::uint32_t> nearest(std::uint32_t from, NodeKind kind) const {
    std::vector<std::uint32_t> found;
    float bandwidth = 0;
    PathType type = PathType::kDis;
    for (const std::uint32_t to : system_.all(kind)) {
      const Path& path = system_.path(from, to);
      if (path.bandwidth > bandwidth || (path.bandwidth == bandwidth && path.type < type)) {
        bandwidth = path.bandwidth;
        type = path.type;
        found.clear();
      }
      if (path.bandwidth == bandwidth && path.type == type) found.push_back(to);
    }
    return found;
  }

  static std::uint32_t mirrored(std::uint32_t value, std::size_t power) {
    std::uint32_t result = 0;
    for (std::size_t bit = 1, mirror = power / 2; bit < power; bit *= 2, mirror /= 2)
      if ((value & bit) != 0) result |= static_cast<std::uint32_t>(mirror);
    return result;
  }

  // The NICs of a GPU for channels 0, 1, …, until the first comes again (ncclTopoGetLocalNet).
  [[nodiscard]] std::vector<std::uint32_t> nets_of(std::uint32_t gpu) const {
    const std::vector<std::uint32_t> nets = nearest(gpu, NodeKind::kNet);
    if (nets.empty()) return {};
    const std::size_t sharing = std::max<std::size_t>(nearest(nets.front(), NodeKind::kGpu).size(), 1);
    const std::size_t each = (nets.size() + sharing - 1) / sharing;
    auto start = static_cast<std::uint32_t>(std::max(system_.nodes[gpu].device, 0));
    if (at_least("2.29")) start %= static_cast<std::uint32_t>(sharing);
    if ((nets.size() & (nets.size() - 1)) == 0) start = mirrored(start, nets.size());
    std::vector<std::uint32_t> chosen;
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      const std::uint32_t net = nets[(start + channel % each) % nets.size()];
      if (channel > 0 && net == chosen.front()) break;
      chosen.push_back(net);
    }
    return chosen;
  }

  [[nodiscard]] std::uint32_t local_gpu(std::uint32_t net) const {
    const std::vector<std::uint32_t> near = nearest(net, NodeKind::kGpu);
    std::vector<std::vector<std::uint32_t>> nets;
    for (const std::uint32_t gpu : near)
      nets.push_back(nets_of(gpu));
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      bool more = false;
      for (std::size_t index = 0; index < near.size(); ++index) {
        if (channel >= nets[index].size()) continue;
        more = true;
        if (nets[index][channel] == net) return system_.nodes[near[index]].index;
      }
      if (!more) break;
    }
    return kNone;
  }

  // GPUDirect RDMA between a GPU and a NIC (ncclTopoCheckGdr), NCCL_NET_GDR_LEVEL left alone.
  [[nodiscard]] bool direct(std::uint32_t gpu, std::uint32_t net, bool read) const {
    if (!system_.nodes[net].gdr || !system_.nodes[gpu].gdr) return false;
    if (read && system_.nodes[gpu].sm < 80 && gpus().size() > 1) {  // pre-Ampere reads only with NVLink
      const bool nvlink = std::ranges::any_of(gpus(), [&](std::uint32_t other) {
        return other != gpu && system_.path(gpu, other).type == PathType::kNvl;
      });
      if (!nvlink) return false;
    }
    const Path& path = system_.path(gpu, net);
    const PathType distance =
        path.type == PathType::kPxn && path.via != kNone ? system_.path(path.via, net).type : path.type;
    return distance <= (p2c_ ? PathType::kP2c : PathType::kPxb);
  }

  void settle_nic(std::uint32_t gpu, std::uint32_t net) {
    use_relay(gpu, net);
    if (system_.path(gpu, net).type >= PathType::kPhb || direct(gpu, net, false)) return;
    const std::uint32_t cpu = nearest_cpu(gpu);
    if (cpu == kNone) return;
    go_through(cpu, net, gpu);
    go_through(cpu, gpu, net);
  }

  // PXN: over NVLink to the GPU next to the NIC.
  void use_relay(std::uint32_t gpu, std::uint32_t net) {
    const std::uint32_t local = local_gpu(net);
    if (local == kNone || gpus()[local] == gpu) return;
    const std::uint32_t peer = gpus()[local];
    const Path& theirs = system_.path(peer, net);
    const Path& own = system_.path(gpu, net);
    const bool near = theirs.type <= (p2c_ ? PathType::kP2c : PathType::kPxb) && direct(peer, net, true);
    const bool joined =
        system_.path(peer, gpu).type <= PathType::kNvl && system_.nodes[peer].host == system_.nodes[gpu].host;
    const bool better = theirs.bandwidth > own.bandwidth || own.type > PathType::kPxn;
    if (near && joined && better) go_through(peer, gpu, net);
  }

  // ncclTopoSearchInit.
  void sum_up() {
    const bool inter = system_.options.between_nodes;
    if (!inter && gpus().size() == 1) {
      system_.max_bandwidth = system_.total_bandwidth = system_.path(gpus()[0], gpus()[0]).bandwidth;
      return;
    }
    for (const std::uint32_t from : system_.all(gate_)) {
      for (const std::uint32_t to : system_.all(inter ? NodeKind::kNet : gate_))
        if (!system_.path(from, to).hops.empty())
          system_.max_bandwidth = std::max(system_.max_bandwidth, system_.path(from, to).bandwidth);
      system_.total_bandwidth = std::max(system_.total_bandwidth, own_bandwidth(from));
    }
  }

  [[nodiscard]] float own_bandwidth(std::uint32_t gpu) const {
    float nvlink = 0;
    float pci = 0;
    for (const std::uint32_t each : system_.nodes[gpu].links) {
      const SystemLink& link = system_.links[each];
      if (link.kind == LinkKind::kNvlink) nvlink += link.bandwidth;
      if (link.kind == LinkKind::kPci) pci = link.bandwidth;
    }
    return std::max(nvlink, pci);
  }

  System& system_;
  NodeKind gate_;  // what stands for a GPU among the links
  bool p2c_;
};

}  // namespace

void compute_paths(System& system) {
  Paths(system).compute();
}

}  // namespace angio::nccl
