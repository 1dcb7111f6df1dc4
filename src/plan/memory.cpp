#include "plan/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::plan {
namespace {

using model::Machine;
using model::MemoryPolicy;
using model::NumaKind;
using model::NumaNode;

std::optional<std::size_t> nearest_memory(const Machine& machine, const Cores& cores,
                                          const PlanRequest& request, std::size_t pool) {
  const Pool& from = cores.pools[pool];
  std::optional<std::size_t> best;
  std::tuple<std::uint32_t, bool, bool> best_key;
  for (std::size_t i = 0; i < machine.numa.nodes.size(); ++i) {
    const NumaNode& node = machine.numa.nodes[i];
    if (!holds_memory(node, request)) continue;
    if (i == from.index) return i;
    const auto pool_of_node = std::ranges::find(cores.pools, i, &Pool::index);
    const bool elsewhere = pool_of_node == cores.pools.end() || pool_of_node->package != from.package;
    const std::tuple key{node_distance(machine, from.index, i).value_or(UINT32_MAX),
                         node.kind != NumaKind::kOrdinary, elsewhere};
    if (!best || key < best_key) {
      best = i;
      best_key = key;
    }
  }
  return best;
}

CpuSet package_memory(const Machine& machine, const Cores& cores, const PlanRequest& request,
                      std::size_t pool) {
  CpuSet nodes;
  for (const Pool* each : package_pools(cores, pool)) {
    if (holds_memory(machine.numa.nodes[each->index], request)) nodes.insert(each->node.value);
  }
  return nodes;
}

std::string why_not_here(const Machine& machine, const PlanRequest& request, const Pool& pool) {
  const NumaNode& node = machine.numa.nodes[pool.index];
  if (request.allowed_memory && !request.allowed_memory->contains(node.id.value)) {
    return fmt::format("node {} is not in the memory mask {}", node.id.value,
                       to_list(*request.allowed_memory));
  }
  return fmt::format("node {} has CPUs but no memory of its own for them", node.id.value);
}

const char* manner(MemoryPolicy policy) {
  return policy == MemoryPolicy::kBind
             ? "strict: when it is full, allocations fail or the kernel kills the process"
             : "preferred: when it is full, the kernel takes the next node";
}

void set_one_node(const Machine& machine, const Cores& cores, const PlanRequest& request, std::size_t pool,
                  model::RankPlacement& rank) {
  const Pool& from = cores.pools[pool];
  const auto nearest = nearest_memory(machine, cores, request, pool);
  if (!nearest) {
    rank.memory = MemoryPolicy::kNone;
    rank.why.push_back({"memory", "no node's memory is known; the inherited policy stays"});
    return;
  }
  const NumaNode& node = machine.numa.nodes[*nearest];
  rank.memory_nodes.insert(node.id.value);
  if (*nearest == from.index) {
    rank.why.push_back(
        {"memory", fmt::format("node {} is where the CPUs are; {}", node.id.value, manner(rank.memory))});
    return;
  }
  const auto distance = node_distance(machine, from.index, *nearest);
  rank.why.push_back(
      {"memory", fmt::format("{}; node {} is the nearest that has{}; {}",
                             why_not_here(machine, request, from), node.id.value,
                             distance ? fmt::format(" (distance {})", *distance) : "", manner(rank.memory))});
}

struct Demand {
  std::uint64_t ranks = 0;
  CpuSet nodes;
};

Bytes for_all(double per_rank, std::uint64_t ranks) {
  return Bytes{static_cast<std::uint64_t>(per_rank * static_cast<double>(ranks))};
}

std::string node_words(const CpuSet& nodes) {
  return fmt::format("{} {}", nodes.size() == 1 ? "node" : "nodes", to_list(nodes));
}

struct Room {
  Bytes free;
  Bytes total;
  bool free_known = true;
};

Room room_of(const Machine& machine, const CpuSet& nodes) {
  Room room;
  for (const NumaNode& node : machine.numa.nodes) {
    if (!nodes.contains(node.id.value)) continue;
    const Bytes* free = node.memory_free.get();
    room.free_known = room.free_known && free != nullptr;
    if (free != nullptr) room.free = room.free + *free;
    room.total = room.total + node.memory.value_or({});
  }
  return room;
}

void note_huge_pages(const Machine& machine, const CpuSet& nodes, std::vector<model::Note>& notes) {
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> here;  // size → free, total
  std::map<std::uint64_t, std::uint64_t> everywhere;
  for (const NumaNode& node : machine.numa.nodes) {
    for (const model::HugePages& pages : node.huge_pages) {
      everywhere[pages.page_size.value] += pages.total;
      if (!nodes.contains(node.id.value)) continue;
      here[pages.page_size.value].first += pages.free;
      here[pages.page_size.value].second += pages.total;
    }
  }
  for (const auto& [size, total] : everywhere) {
    const auto [free, reserved] = here[size];
    if (total == 0 || free > 0) continue;
    notes.push_back(
        {"plan.memory.huge-pages",
         fmt::format("{} has 0 of {} huge pages of {} free ({} on all nodes); under a strict policy a "
                     "program that maps them there ends with SIGBUS",
                     node_words(nodes), reserved, in_words(Bytes{size}), total),
         1, "reserve them on that node: /sys/devices/system/node/node<N>/hugepages/…/nr_hugepages"});
  }
}

Result<void> check_room(const Machine& machine, const Demand& demand, std::vector<model::Note>& notes) {
  const Room room = room_of(machine, demand.nodes);
  const Bytes refuse = for_all(knowledge::threshold("launch.memory-refuse"), demand.ranks);
  const Bytes tight = for_all(knowledge::threshold("launch.memory-tight"), demand.ranks);
  const std::string who = fmt::format("{} for {}", node_words(demand.nodes), count_of(demand.ranks, "rank"));
  if (!room.free_known) {
    notes.push_back(
        {"plan.memory.free-unknown",
         fmt::format("strict memory on {}: how much is free there is not known, so it was not checked", who),
         1, ""});
    return {};
  }
  const std::string figures = fmt::format("{} of {} free", in_words(room.free), in_words(room.total));
  if (room.free < refuse) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("strict memory on {}: {}, less than the {} that their own pages take", who,
                            figures, in_words(refuse)),
                "use --memory preferred, or free memory on that node");
  }
  if (room.free < tight) {
    notes.push_back(
        {"plan.memory.tight",
         fmt::format("strict memory on {}: {} (page cache, which the kernel gives back, not counted); "
                     "below {} allocations may fail though other nodes have room",
                     who, figures, in_words(tight)),
         1, "use --memory preferred, which takes the next node when this one is full"});
  }
  return {};
}

}  // namespace

bool holds_memory(const NumaNode& node, const PlanRequest& request) {
  if (request.allowed_memory && !request.allowed_memory->contains(node.id.value)) return false;
  const bool kind_fits = node.kind == NumaKind::kOrdinary || node.kind == NumaKind::kMemoryOnly ||
                         node.kind == NumaKind::kHighBandwidth;
  return kind_fits && !node.memory.is(Bytes{0});
}

void choose_memory(const Machine& machine, const Cores& cores, const PlanRequest& request, std::size_t pool,
                   model::RankPlacement& rank) {
  rank.memory = request.memory;
  switch (request.memory) {
    case MemoryPolicy::kNone:
      return;
    case MemoryPolicy::kLocal:
      rank.why.push_back({"memory", "each page comes from the node of the CPU that touches it first"});
      return;
    case MemoryPolicy::kInterleave:
      rank.memory_nodes = package_memory(machine, cores, request, pool);
      if (rank.memory_nodes.empty()) break;
      rank.why.push_back({"memory", fmt::format("pages alternate over {}, the memory of the CPUs' package",
                                                node_words(rank.memory_nodes))});
      return;
    case MemoryPolicy::kPreferred:
    case MemoryPolicy::kBind:
      break;
  }
  set_one_node(machine, cores, request, pool, rank);
}

Result<void> check_strict_memory(const Machine& machine, const PlanRequest& request,
                                 model::Placement& placement, std::uint32_t ranks_each_stands_for) {
  if (request.memory != MemoryPolicy::kBind) return {};
  std::map<std::string, Demand> demands;
  for (const model::RankPlacement& rank : placement.ranks) {
    if (rank.node && rank.memory_nodes.empty()) {
      return fail(
          ErrorCode::kInvalidInput,
          fmt::format("rank {}: strict memory, but no node with host memory {}", rank.local_rank,
                      request.allowed_memory ? "is in the memory mask " + to_list(*request.allowed_memory)
                                             : std::string("is known")),
          "use --memory none, or widen the mask");
    }
    if (rank.memory_nodes.empty()) continue;
    Demand& demand = demands[to_list(rank.memory_nodes)];
    demand.ranks += ranks_each_stands_for;
    demand.nodes = rank.memory_nodes;
  }
  for (const auto& [list, demand] : demands) {
    if (auto done = check_room(machine, demand, placement.notes); !done) return done;
    note_huge_pages(machine, demand.nodes, placement.notes);
  }
  return {};
}

}  // namespace angio::plan
