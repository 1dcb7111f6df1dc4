#include "plan/placement_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::plan {
namespace {

void add(std::vector<model::Note>& notes, std::string id, std::string text, std::string remedy) {
  notes.push_back({std::move(id), std::move(text), 1, std::move(remedy)});
}

std::string ranks_words(const CpuSet& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", to_list(ranks));
}

std::string fact(std::string_view id) {
  const knowledge::NcclFact* known = knowledge::find_nccl_fact(id);
  return known != nullptr ? "; " + std::string(known->text) : std::string();
}

void note_unknown_nodes(const std::vector<Seat>& seats, std::vector<model::Note>& notes) {
  std::map<std::string, CpuSet> by_cause;
  for (const Seat& seat : seats) {
    if (!seat.place.pool) by_cause[seat.place.evidence].insert(seat.rank);
  }
  for (const auto& [cause, ranks] : by_cause) {
    add(notes, "plan.node.unknown",
        fmt::format("{}: the NUMA node is not known ({}); CPUs and memory are left as they are",
                    ranks_words(ranks), cause),
        "in a VM, ask for a NUMA topology with the devices' nodes; on bare metal, update the firmware");
  }
}

// The mask leaves no core of the GPU's node: stay inside it and say what that costs.
void note_masks(const Board& board, const std::vector<Seat>& seats, std::vector<model::Note>& notes) {
  std::map<std::pair<std::size_t, std::size_t>, CpuSet> moved;
  for (const Seat& seat : seats) {
    if (seat.gpu && seat.place.pool && seat.place.pool != seat.place.home) {
      moved[{*seat.place.home, *seat.place.pool}].insert(seat.rank);
    }
  }
  for (const auto& [pools, ranks] : moved) {
    const Pool& home = board.cores.pools[pools.first];
    const Pool& pool = board.cores.pools[pools.second];
    const auto distance = node_distance(board.machine, home.index, pool.index);
    add(notes, "plan.cpus.mask-misses-node",
        fmt::format(
            "{}: the CPU mask leaves no core of node {}, where the GPU hangs; bound to node {}{} inside "
            "the mask. Every copy between GPU and host memory crosses the CPUs' interconnect",
            ranks_words(ranks), home.node.value, pool.node.value,
            distance ? fmt::format(" (distance {}, local is 10)", *distance) : ""),
        "ask the scheduler for CPUs beside the GPU: Slurm --gpu-bind=closest, Kubernetes Topology Manager "
        "single-numa-node; angio bench memory measures the penalty");
  }
}

// The node that all adapters are on, unless a far rank is on it too: then the source contradicts itself.
bool all_on_one_node(const Board& board, const std::vector<Seat>& seats, std::optional<NumaId>& node) {
  for (const std::uint32_t device : board.fleet.devices) {
    const auto its = model::nearest_node(board.machine, {model::DeviceKind::kRdma, device});
    if (!its || (node && *node != *its)) return false;
    node = its;
  }
  return node && std::ranges::none_of(seats, [&](const Seat& seat) {
           return seat.adapters.path.kind == model::PathClass::kSys && seat.place.node == node;
         });
}

void note_far_adapters(const Board& board, const std::vector<Seat>& seats, std::vector<model::Note>& notes) {
  CpuSet far;
  bool gpus = false;
  for (const Seat& seat : seats) {
    if (seat.adapters.rdma.empty() || seat.adapters.path.kind != model::PathClass::kSys) continue;
    far.insert(seat.rank);
    gpus = gpus || seat.gpu.has_value();
  }
  if (far.empty()) return;
  std::optional<NumaId> node;
  const std::string where = all_on_one_node(board, seats, node)
                                ? fmt::format("all adapters are on node {}", node->value)
                                : std::string("no adapter is on their node");
  add(notes, "plan.nic.far",
      fmt::format("{} {} the nearest adapter only over the CPUs' interconnect (SYS): {}{}", ranks_words(far),
                  far.size() == 1 ? "reaches" : "reach", where, gpus ? fact("gdr-distance") : std::string()),
      "traffic between nodes of these ranks is slower than that of the others; move a card, or use the GPUs "
      "beside the adapters for jobs that span hosts");
}

void note_shared_gpus(const Board& board, const std::vector<Seat>& seats, std::vector<model::Note>& notes) {
  const std::size_t gpus = board.visible.gpus.size();
  if (gpus == 0 || seats.size() <= gpus) return;
  const bool slices = std::ranges::any_of(board.visible.gpus, &VisibleGpu::slice);
  add(notes, "plan.gpu.oversubscribed",
      fmt::format("{} on {}: GPUs are given out in turn, up to {} ranks each{}",
                  count_of(seats.size(), "rank"), count_of(gpus, slices ? "MIG device" : "GPU"),
                  (seats.size() + gpus - 1) / gpus, fact("duplicate-gpu")),
      "start one rank for each GPU");
}

void note_unused_gpus(const Board& board, const std::vector<Seat>& seats, std::vector<model::Note>& notes) {
  const std::vector<VisibleGpu>& gpus = board.visible.gpus;
  if (seats.size() >= gpus.size()) return;
  std::string unused;
  for (std::size_t i = seats.size(); i < gpus.size(); ++i) {
    if (!unused.empty()) unused += ", ";
    unused += gpus[i].device;
  }
  add(notes, "plan.gpu.unused",
      fmt::format("{} for {}: {} without a rank", count_of(seats.size(), "rank"),
                  count_of(gpus.size(), "visible GPU"),
                  (gpus.size() - seats.size() == 1 ? "GPU " : "GPUs ") + unused),
      "to spread ranks over the nodes, name GPUs of both in the visible-devices variable");
}

std::vector<const Pool*> idle_pools(const Board& board, const std::vector<Seat>& seats) {
  std::vector<bool> used(board.cores.pools.size(), false);
  for (const Seat& seat : seats) {
    if (!seat.place.pool) return {};
    used[*seat.place.pool] = true;
    if (board.request.cpus != CpuPolicy::kPackage) continue;
    for (const Pool* pool : package_pools(board.cores, *seat.place.pool))
      used[static_cast<std::size_t>(pool - board.cores.pools.data())] = true;
  }
  std::vector<const Pool*> idle;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i] && !board.cores.pools[i].cores.empty()) idle.push_back(&board.cores.pools[i]);
  }
  return idle;
}

bool beside_a_seat(const Board& board, const std::vector<Seat>& seats, const Pool& idle) {
  return idle.package && std::ranges::any_of(seats, [&](const Seat& seat) {
           return seat.place.pool && board.cores.pools[*seat.place.pool].package == idle.package;
         });
}

std::optional<std::uint32_t> shortest_way(const Board& board, const std::vector<Seat>& seats,
                                          const Pool& idle) {
  std::optional<std::uint32_t> shortest;
  for (const Seat& seat : seats) {
    const auto distance = node_distance(board.machine, board.cores.pools[*seat.place.pool].index, idle.index);
    if (distance && (!shortest || *distance < *shortest)) shortest = distance;
  }
  return shortest;
}

void note_idle_nodes(const Board& board, const std::vector<Seat>& seats, std::vector<model::Note>& notes) {
  if (board.request.cpus == CpuPolicy::kNone) return;
  const std::vector<const Pool*> idle = idle_pools(board, seats);
  if (idle.empty()) return;
  std::size_t cores = 0;
  CpuSet nodes;
  for (const Pool* pool : idle) {
    cores += pool->cores.size();
    nodes.insert(pool->node.value);
  }
  const bool near =
      std::ranges::any_of(idle, [&](const Pool* pool) { return beside_a_seat(board, seats, *pool); });
  const auto distance = shortest_way(board, seats, *idle.front());
  const std::string far = distance ? fmt::format(" (distance {}, local is 10)", *distance) : std::string();
  add(notes, "plan.node.idle",
      fmt::format("{} {} {} without a rank{}: {} idle; ranks of other nodes would find memory remote there{}",
                  nodes.size() == 1 ? "node" : "nodes", to_list(nodes), nodes.size() == 1 ? "is" : "are",
                  board.visible.gpus.empty() ? "" : ", since no rank's GPU hangs off there",
                  count_of(cores, "core"), far),
      near ? "--cpus package adds the nodes of the same package"
           : "a data loader that is short of cores may use them: measure before (angio bench memory)");
}

}  // namespace

void note_seats(const Board& board, const std::vector<Seat>& seats, std::vector<model::Note>& notes) {
  note_unknown_nodes(seats, notes);
  note_masks(board, seats, notes);
  note_far_adapters(board, seats, notes);
}

void note_whole(const Board& board, const std::vector<Seat>& seats, std::vector<model::Note>& notes) {
  note_shared_gpus(board, seats, notes);
  note_unused_gpus(board, seats, notes);
  note_idle_nodes(board, seats, notes);
}

}  // namespace angio::plan
