#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "knowledge/knowledge.hpp"
#include "plan/memory.hpp"
#include "plan/seats.hpp"

namespace angio::plan {
namespace {

using model::RankPlacement;

// The first of a kind stands for all.
void add_note(std::vector<model::Note>& notes, model::Note note) {
  const auto known = std::ranges::find(notes, note.id, &model::Note::id);
  if (known == notes.end()) {
    notes.push_back(std::move(note));
  } else {
    ++known->count;
  }
}

void explain(RankPlacement& rank, std::string what, std::string text) {
  rank.why.push_back({std::move(what), std::move(text)});
}

std::string gpu_words(const Seat& seat) {
  if (!seat.gpu) return {};
  if (!seat.gpu->gpu) return seat.gpu->device;
  return fmt::format("GPU {}", *seat.gpu->gpu);
}

std::string chosen_by(const Board& board, const Seat& seat) {
  const std::vector<VisibleGpu>& gpus = board.visible.gpus;
  if (board.visible.variable.empty()) return {};
  const auto place =
      std::ranges::find_if(gpus, [&](const VisibleGpu& gpu) { return gpu.device == seat.gpu->device; });
  if (place == gpus.end()) return {};
  return fmt::format("; {} names it as \"{}\", number {} of {}", board.visible.variable, seat.gpu->device,
                     place - gpus.begin(), gpus.size());
}

void explain_gpu(const Board& board, const Seat& seat, RankPlacement& rank) {
  if (!seat.gpu) return;
  const std::string gpu = gpu_words(seat);
  if (!seat.place.pool) {
    explain(rank, "gpu",
            fmt::format("the NUMA node of {} is not known ({}); nothing is bound{}", gpu, seat.place.evidence,
                        chosen_by(board, seat)));
    return;
  }
  std::string text =
      fmt::format("{} hangs off node {} ({})", gpu, seat.place.node->value, seat.place.evidence);
  const NumaId home = board.cores.pools[*seat.place.home].node;
  if (home != *seat.place.node)
    text += fmt::format(", which has no CPUs; node {} is the nearest that has", home.value);
  explain(rank, "gpu", text + chosen_by(board, seat));
}

std::string ranks_words(const CpuSet& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", to_list(ranks));
}

std::string pool_words(const Pool& pool) {
  return fmt::format("node {}'s {}", pool.node.value, count_of(pool.cores.size(), "core"));
}

std::string cores_words(std::size_t count) {
  return count_of(count, "core");
}

std::string among(const Seat& seat) {
  if (seat.neighbours.size() > 1) return "are shared by " + ranks_words(seat.neighbours);
  if (seat.slot.parts == 1) return "are this rank's alone";
  return fmt::format("are cut into {} parts, this is part {}", seat.slot.parts, seat.slot.first);
}

void explain_cpus(const Board& board, const Seat& seat, const Pool& pool, const Share& share,
                  RankPlacement& rank) {
  const PlanRequest& request = board.request;
  const char* threads = request.smt == Smt::kOne ? ", one hardware thread of each" : "";
  std::string text;
  if (seat.cut) {
    text = fmt::format("the mask leaves {} of node {}'s {}: it was cut for this rank and is taken whole",
                       cores_words(share.cores), pool.node.value, pool.unmasked);
  } else if (request.cpus == CpuPolicy::kNode) {
    text = fmt::format("all of {}, which {}", pool_words(pool), among(seat));
  } else if (request.cpus == CpuPolicy::kPackage) {
    text = pool.package ? fmt::format("all {} of package {}, shared by its {}", cores_words(share.cores),
                                      *pool.package, count_of(seat.of_package, "rank"))
                        : fmt::format("all of {}: the source does not tell the packages", pool_words(pool));
  } else if (request.cpus == CpuPolicy::kCore) {
    text = fmt::format("one core, the first of its part; {} {}", pool_words(pool), among(seat));
  } else if (request.cpus == CpuPolicy::kL3 && !share.cut_domain) {
    text = fmt::format("whole last-level caches; {} {}", pool_words(pool), among(seat));
  } else {
    text = fmt::format("{} {}", pool_words(pool), among(seat));
  }
  if (board.cores.masked && !seat.cut && pool.cores.size() < pool.unmasked) {
    text += fmt::format(" ({} without the mask)", pool.unmasked);
  }
  explain(rank, "cpus", text + threads);
}

Share cut_share(const Board& board, const Seat& seat) {
  const Pool& pool = board.cores.pools[*seat.place.pool];
  // Without a GPU no node is better than another: all that the mask has.
  if (seat.cut && !seat.gpu) {
    std::vector<const Pool*> all;
    for (const Pool& each : board.cores.pools)
      all.push_back(&each);
    return whole_of(all);
  }
  switch (board.request.cpus) {
    case CpuPolicy::kNone:
      return {};
    case CpuPolicy::kNode:
      return whole_of({&pool});
    case CpuPolicy::kPackage:
      return whole_of(package_pools(board.cores, *seat.place.pool));
    case CpuPolicy::kExclusive:
    case CpuPolicy::kL3:
    case CpuPolicy::kCore:
      break;
  }
  return share_of(pool, board.request.cpus, seat.cut ? Slot{} : seat.slot);
}

// NCCL's proxy threads and CUDA's own run beside the OpenMP threads, not in their place.
std::uint32_t kept_of(const Seat& seat, std::uint32_t cores) {
  if (!seat.gpu) return 0;
  const double share = knowledge::threshold("launch.kept-share") * cores;
  const double most = knowledge::threshold("launch.kept-cores");
  return static_cast<std::uint32_t>(std::max(0.0, std::min(share, most)));
}

// Cores this rank can count on, where the CPUs themselves are shared.
std::uint32_t fair_cores(const Board& board, const Seat& seat, const Share& share) {
  std::uint32_t sharers = 1;
  if (!seat.cut && board.request.cpus == CpuPolicy::kNode) sharers = seat.sharers;
  if (!seat.cut && board.request.cpus == CpuPolicy::kPackage) sharers = seat.of_package;
  return std::max(share.cores / std::max(sharers, 1U), 1U);
}

void choose_threads(const Board& board, const Seat& seat, const Share& share, RankPlacement& rank) {
  const std::uint32_t cores = fair_cores(board, seat, share);
  rank.kept_cores = kept_of(seat, cores);
  rank.threads = std::max(cores - rank.kept_cores, 1U);
  std::string text = fmt::format("{} of {}", count_of(rank.threads, "thread"), cores_words(cores));
  if (cores != share.cores) text += fmt::format(" (its part of {})", share.cores);
  if (rank.kept_cores > 0)
    text += fmt::format(", {} kept for NCCL's proxy and CUDA's threads", rank.kept_cores);
  explain(rank, "threads", text + "; hardware threads of a core do not count twice");
  if (!seat.gpu) return;
  const auto most = static_cast<std::uint32_t>(knowledge::threshold("launch.loader-most"));
  rank.loader_workers = std::min(rank.threads - 1, most);
  if (rank.loader_workers == 0) return;
  explain(
      rank, "loaders",
      fmt::format(
          "{}: {} less 1 for the training process{}; each is a process of one thread that inherits "
          "this binding",
          count_of(rank.loader_workers, "worker"), cores_words(rank.threads),
          rank.threads - 1 > most ? fmt::format(", {} at most unless the loader is the limit", most) : ""));
}

std::string rdma_names(const Board& board, const std::vector<std::uint32_t>& devices) {
  std::string names;
  for (const std::uint32_t device : devices)
    names += (names.empty() ? "" : ", ") + board.machine.rdma[device].name;
  return names;
}

void choose_adapters(const Board& board, const Seat& seat, RankPlacement& rank) {
  if (board.fleet.devices.empty()) return;
  const Adapters& adapters = seat.adapters;
  rank.rdma = adapters.rdma;
  rank.rdma_path = adapters.path;
  const std::string from = seat.gpu          ? gpu_words(seat)
                           : seat.place.node ? fmt::format("node {}", seat.place.node->value)
                                             : "the rank";
  if (adapters.rdma.empty()) {
    explain(rank, "nic",
            fmt::format("which adapter is nearest to {} is not known: {}", from, adapters.path.why));
    return;
  }
  const bool known = adapters.path.kind != model::PathClass::kUnknown;
  std::string text =
      known ? fmt::format("{} nearest to {}: {} ({})",
                          rdma_names(board, adapters.rdma) + (adapters.rdma.size() == 1 ? " is" : " are"),
                          from, model::label(adapters.path), model::path_class_meaning(adapters.path.kind))
            : fmt::format("{} is the only adapter", rdma_names(board, adapters.rdma));
  if (adapters.candidates > adapters.rdma.size()) {
    text += fmt::format("; {} adapters are as near, GPUs take them in turn", adapters.candidates);
  }
  explain(rank, "nic", text);
}

}  // namespace

RankPlacement settle(const Board& board, const Seat& seat, std::vector<model::Note>& notes) {
  RankPlacement rank;
  rank.local_rank = seat.rank;
  if (seat.gpu) {
    rank.gpu = seat.gpu->gpu;
    rank.device = seat.gpu->device;
  }
  explain_gpu(board, seat, rank);
  if (!seat.place.pool) {
    choose_adapters(board, seat, rank);
    return rank;
  }
  const Pool& pool = board.cores.pools[*seat.place.pool];
  rank.node = pool.node;
  const Share share = cut_share(board, seat);
  rank.cpus = share.cpus;
  rank.cores = share.cores;
  if (board.request.cpus != CpuPolicy::kNone) explain_cpus(board, seat, pool, share, rank);
  choose_memory(board.machine, board.cores, board.request, *seat.place.pool, rank);
  choose_adapters(board, seat, rank);
  if (board.request.cpus != CpuPolicy::kNone) choose_threads(board, seat, share, rank);
  if (share.shared) {
    add_note(notes, {"plan.cpus.oversubscribed",
                     fmt::format("node {} has {} for {}: ranks share them", pool.node.value,
                                 cores_words(pool.cores.size()), count_of(seat.slot.parts, "rank")),
                     1, "start fewer ranks"});
  }
  if (share.cut_domain && board.request.cpus == CpuPolicy::kL3) {
    add_note(notes,
             {"plan.cpus.caches",
              fmt::format("node {} has fewer last-level caches than ranks ({}), or the source does not tell "
                          "them: its cores are divided instead",
                          pool.node.value, seat.slot.parts),
              1, ""});
  }
  return rank;
}

}  // namespace angio::plan
