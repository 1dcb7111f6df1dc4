#include "plan/seats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"

namespace angio::plan {
namespace {

using model::Machine;

std::vector<std::size_t> pools_with_cores(const Board& board) {
  std::vector<std::size_t> pools;
  for (std::size_t i = 0; i < board.cores.pools.size(); ++i) {
    if (!board.cores.pools[i].cores.empty()) pools.push_back(i);
  }
  return pools;
}

// A rank without a GPU: nodes in order, evenly.
Place spread(const Board& board, const std::vector<std::size_t>& pools, std::uint64_t rank,
             std::uint64_t ranks) {
  Place place;
  if (pools.empty()) {
    place.evidence = "the source has no NUMA nodes with CPUs";
    return place;
  }
  place.pool = pools[static_cast<std::size_t>(rank * pools.size() / ranks)];
  place.home = place.pool;
  place.node = board.cores.pools[*place.pool].node;
  return place;
}

void seat_slots(const Board& board, std::vector<Seat>& seats) {
  struct Crowd {
    std::uint32_t count = 0;
    CpuSet ranks;
  };
  std::map<std::size_t, Crowd> crowds;
  std::map<std::size_t, std::uint32_t> homes;
  std::map<std::uint32_t, std::uint32_t> packages;
  for (Seat& seat : seats) {
    if (!seat.place.pool) continue;
    Crowd& crowd = crowds[*seat.place.pool];
    seat.slot.first = crowd.count++;
    seat.at_home.first = homes[*seat.place.home]++;
    crowd.ranks.insert(seat.rank);
    if (const auto package = board.cores.pools[*seat.place.pool].package) ++packages[*package];
  }
  for (Seat& seat : seats) {
    if (!seat.place.pool) continue;
    const Crowd& crowd = crowds[*seat.place.pool];
    seat.slot.parts = crowd.count;
    seat.at_home.parts = homes[*seat.place.home];
    seat.sharers = crowd.count;
    seat.neighbours = crowd.ranks;
    const auto package = board.cores.pools[*seat.place.pool].package;
    seat.of_package = package ? packages[*package] : crowd.count;
  }
}

}  // namespace

Result<Board> make_board(const Machine& machine, const PlanRequest& request) {
  if (request.allowed_memory && request.allowed_memory->empty()) {
    return fail(ErrorCode::kInvalidInput, "the memory mask is empty: no page could be allocated",
                "look at the cgroup's cpuset.mems");
  }
  auto visible = find_visible(machine, request.visible);
  if (!visible) return std::unexpected(std::move(visible.error()));
  auto cores = make_cores(machine, request);
  if (!cores) return std::unexpected(std::move(cores.error()));
  return Board{machine, request, std::move(*visible), std::move(*cores), find_fleet(machine)};
}

Place locate_device(const Board& board, const VisibleGpu& device) {
  if (device.gpu) return locate_gpu(board.machine, board.cores, *device.gpu);
  // A MIG device of an unknown GPU: the node is known all the same where all GPUs share one.
  Place common;
  for (const std::uint32_t gpu : board.visible.all) {
    Place place = locate_gpu(board.machine, board.cores, gpu);
    if (!place.node || (common.node && common.node != place.node)) {
      Place unknown;
      unknown.evidence = "which GPU holds it is not known";
      return unknown;
    }
    common = std::move(place);
  }
  common.evidence = "all GPUs do: " + common.evidence;
  return common;
}

std::vector<Seat> make_seats(const Board& board, std::uint32_t ranks) {
  std::vector<Seat> seats(ranks);
  const std::vector<std::size_t> pools = pools_with_cores(board);
  const std::vector<VisibleGpu>& gpus = board.visible.gpus;
  std::vector<Place> places;  // of each visible GPU, asked once
  for (const VisibleGpu& gpu : gpus)
    places.push_back(locate_device(board, gpu));
  for (std::uint32_t i = 0; i < ranks; ++i) {
    seats[i].rank = i;
    if (gpus.empty()) {
      seats[i].place = spread(board, pools, i, ranks);
    } else {
      seats[i].gpu = gpus[i % gpus.size()];
      seats[i].place = places[i % gpus.size()];
    }
  }
  seat_slots(board, seats);
  return seats;
}

void seat_adapters(const Board& board, std::vector<Seat>& seats) {
  std::vector<Seeker> seekers;
  std::vector<std::size_t> seeker_of;
  for (const Seat& seat : seats) {
    Seeker seeker;
    if (seat.gpu && seat.gpu->gpu) seeker.gpu = seat.gpu->gpu;
    if (!seeker.gpu) seeker.node = seat.place.node;
    // Ranks on one GPU share its adapters, as ranks without GPUs share their node's.
    const auto known = std::ranges::find(seekers, seeker);
    seeker_of.push_back(static_cast<std::size_t>(known - seekers.begin()));
    if (known == seekers.end()) seekers.push_back(seeker);
  }
  const std::vector<Adapters> answers = assign_adapters(board.machine, board.fleet, seekers);
  for (std::size_t i = 0; i < seats.size(); ++i)
    seats[i].adapters = answers[seeker_of[i]];
}

std::uint32_t default_ranks(const Board& board) {
  if (!board.visible.gpus.empty()) return static_cast<std::uint32_t>(board.visible.gpus.size());
  return static_cast<std::uint32_t>(std::max<std::size_t>(pools_with_cores(board).size(), 1));
}

}  // namespace angio::plan
