// The wrapper's view: one rank that sees its own variables and its own mask, and nothing of the others.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "plan/memory.hpp"
#include "plan/placement_notes.hpp"
#include "plan/plan.hpp"
#include "plan/seats.hpp"

namespace angio::plan {
namespace {

struct Self {
  const Board& board;
  std::uint32_t local_rank = 0;
  std::optional<std::uint32_t> ranks;  // as the launcher says
};

// Are the visible GPUs this rank's alone? One is. Several are when all ranks together would not need more
// than the machine has, and a list for all ranks would be longer.
bool owns_list(const Self& self) {
  const std::size_t visible = self.board.visible.gpus.size();
  if (visible == 0) return false;
  if (visible == 1) return true;
  return self.ranks && visible < *self.ranks && visible * *self.ranks <= self.board.visible.all.size();
}

// Which GPUs count as neighbours: those whose ranks end up on the same node under this mask, or those that
// hang off the same node whatever the mask.
enum class Near : std::uint8_t { kUnderMask, kByHome };

// This GPU's place among its neighbours, and how many there are.
Slot slot_among_gpus(const Board& board, const Seat& seat, Near near) {
  Slot slot{0, 0, 0};
  for (const std::uint32_t gpu : board.visible.all) {
    const Place place = locate_gpu(board.machine, board.cores, gpu);
    const bool beside =
        near == Near::kUnderMask ? place.pool == seat.place.pool : place.home == seat.place.home;
    if (!beside) continue;
    if (seat.gpu->gpu && gpu < *seat.gpu->gpu) ++slot.first;
    const bool own =
        std::ranges::any_of(board.visible.gpus, [&](const VisibleGpu& mine) { return mine.gpu == gpu; });
    if (own) ++slot.span;
    ++slot.parts;
  }
  slot.parts = std::max(slot.parts, 1U);
  slot.span = std::max(slot.span, 1U);
  return slot;
}

// Several ranks on one GPU: launchers give GPUs out in turn (rank r on GPU r mod G) or in blocks (r / k).
// Which of them it was shows in this rank's own GPU; always so for two ranks a GPU.
std::uint32_t turn_on_gpu(const Self& self, std::uint32_t gpus, std::uint32_t ranks_a_gpu) {
  const std::vector<std::uint32_t>& all = self.board.visible.all;
  const auto mine = std::ranges::find(all, self.board.visible.gpus.front().gpu.value_or(UINT32_MAX));
  const auto number = static_cast<std::uint32_t>(mine - all.begin());
  if (number != self.local_rank % gpus && number == self.local_rank / ranks_a_gpu) {
    return self.local_rank % ranks_a_gpu;
  }
  return self.local_rank / gpus % ranks_a_gpu;
}

// The part of the node that no other such wrapper takes.
Slot own_slot(const Self& self, const Seat& seat, Near near) {
  Slot slot = slot_among_gpus(self.board, seat, near);
  if (!self.ranks) return slot;
  const auto gpus = static_cast<std::uint32_t>(self.board.visible.all.size());
  // Fewer ranks than GPUs here, or parts of one GPU: by local rank no two can meet, whatever their GPUs.
  if (seat.gpu->slice || (*self.ranks < slot.parts && slot.span == 1))
    return {*self.ranks, self.local_rank, 1};
  if (*self.ranks <= gpus || gpus == 0) return slot;
  const std::uint32_t ranks_a_gpu = (*self.ranks + gpus - 1) / gpus;
  return {slot.parts * ranks_a_gpu, slot.first * ranks_a_gpu + turn_on_gpu(self, gpus, ranks_a_gpu), 1};
}

Seat own_seat(const Self& self) {
  Seat seat;
  seat.rank = self.local_rank;
  seat.gpu = self.board.visible.gpus.front();
  seat.place = locate_device(self.board, *seat.gpu);
  if (self.board.visible.gpus.size() > 1) {
    seat.gpu->device.clear();
    for (const VisibleGpu& gpu : self.board.visible.gpus)
      seat.gpu->device += (seat.gpu->device.empty() ? "" : ",") + gpu.device;
  }
  if (!seat.place.pool) return seat;
  seat.slot = own_slot(self, seat, Near::kUnderMask);
  seat.at_home = own_slot(self, seat, Near::kByHome);
  seat.sharers = std::max(seat.slot.parts / std::max(seat.slot.span, 1U), 1U);
  std::uint32_t pools = 0;
  for (const Pool* pool : package_pools(self.board.cores, *seat.place.pool))
    pools += pool->cores.empty() ? 0 : 1;
  seat.of_package = seat.sharers * std::max(pools, 1U);
  if (seat.slot.parts == 1) seat.neighbours.insert(seat.rank);
  return seat;
}

// The rails that the other GPUs' ranks take are not this one's.
void own_adapters(const Board& board, Seat& seat) {
  if (!seat.gpu->gpu) {
    std::vector<Seat> alone{seat};
    seat_adapters(board, alone);
    seat.adapters = alone.front().adapters;
    return;
  }
  std::vector<Seat> all;
  std::size_t mine = 0;
  for (const std::uint32_t gpu : board.visible.all) {
    if (gpu == *seat.gpu->gpu) mine = all.size();
    Seat other;
    other.gpu = VisibleGpu{gpu, {}, false};
    all.push_back(std::move(other));
  }
  seat_adapters(board, all);
  if (!all.empty()) seat.adapters = all[mine].adapters;
}

std::size_t ceiling(std::size_t count, std::size_t parts) {
  return (count + parts - 1) / std::max<std::size_t>(parts, 1);
}

// A scheduler that cut the mask for this task left no more than a fair share; to cut it again would waste it.
// What is fair follows from the machine without the mask: other ranks have masks of their own.
bool is_cut(const Self& self, const Seat& seat) {
  if (!self.board.cores.masked || !seat.place.pool) return false;
  const Pool& pool = self.board.cores.pools[*seat.place.pool];
  if (seat.gpu && seat.place.pool == seat.place.home) {
    const Slot& slot = seat.at_home;
    return pool.cores.size() <= ceiling(std::size_t{pool.unmasked} * std::max(slot.span, 1U), slot.parts);
  }
  std::size_t allowed = 0;
  std::size_t all = 0;
  for (const Pool& each : self.board.cores.pools) {
    allowed += each.cores.size();
    all += each.unmasked;
  }
  const std::size_t ranks = self.ranks.value_or(static_cast<std::uint32_t>(self.board.visible.all.size()));
  return ranks > 0 && allowed <= ceiling(all, ranks);
}

Seat find_seat(const Self& self) {
  if (owns_list(self)) {
    Seat seat = own_seat(self);
    own_adapters(self.board, seat);
    return seat;
  }
  const std::uint32_t ranks = std::max(self.ranks.value_or(default_ranks(self.board)), self.local_rank + 1);
  std::vector<Seat> seats = make_seats(self.board, ranks);
  seat_adapters(self.board, seats);
  return seats[self.local_rank];
}

void choose_largest_pool(const Board& board, Seat& seat) {
  const auto largest =
      std::ranges::max_element(board.cores.pools, {}, [](const Pool& pool) { return pool.cores.size(); });
  seat.place.pool = static_cast<std::size_t>(largest - board.cores.pools.begin());
  seat.place.home = seat.place.pool;
  seat.place.node = largest->node;
}

}  // namespace

Result<model::Placement> make_rank_placement(const model::Machine& machine, const RankRequest& request) {
  const std::optional<std::uint32_t>& ranks = request.plan.ranks;
  if (request.local_rank > CpuSet::kMaxCpu ||
      (ranks && (*ranks > CpuSet::kMaxCpu + 1 || request.local_rank >= *ranks))) {
    return fail(ErrorCode::kInvalidInput,
                ranks ? fmt::format("local rank {} of {}: local ranks count from 0", request.local_rank,
                                    count_of(*ranks, "rank"))
                      : fmt::format("local rank {} is out of range", request.local_rank),
                "the launcher's variables contradict each other");
  }
  auto board = make_board(machine, request.plan);
  if (!board) return std::unexpected(std::move(board.error()));
  const Self self{*board, request.local_rank, ranks};
  std::vector<Seat> seats{find_seat(self)};
  Seat& seat = seats.front();
  seat.cut = is_cut(self, seat);
  if (seat.cut && !seat.gpu) choose_largest_pool(*board, seat);
  model::Placement placement;
  placement.system_cpus = board->cores.system;
  placement.notes = board->visible.notes;
  placement.notes.insert(placement.notes.end(), board->cores.notes.begin(), board->cores.notes.end());
  note_seats(*board, seats, placement.notes);
  placement.ranks.push_back(settle(*board, seat, placement.notes));
  if (auto room = check_strict_memory(machine, request.plan, placement, 1); !room) {
    return std::unexpected(std::move(room.error()));
  }
  return placement;
}

}  // namespace angio::plan
