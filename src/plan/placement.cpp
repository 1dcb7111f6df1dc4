#include <fmt/format.h>

#include "plan/memory.hpp"
#include "plan/placement_notes.hpp"
#include "plan/plan.hpp"
#include "plan/seats.hpp"

namespace angio::plan {
namespace {

// No machine runs more; a larger number is a typing error.
constexpr std::uint32_t kMaxRanks = CpuSet::kMaxCpu + 1;

}  // namespace

Result<model::Placement> make_placement(const model::Machine& machine, const PlanRequest& request) {
  if (request.ranks && (*request.ranks == 0 || *request.ranks > kMaxRanks)) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{} ranks: expected 1 to {}", *request.ranks, kMaxRanks));
  }
  auto board = make_board(machine, request);
  if (!board) return std::unexpected(std::move(board.error()));
  std::vector<Seat> seats = make_seats(*board, request.ranks.value_or(default_ranks(*board)));
  seat_adapters(*board, seats);
  model::Placement placement;
  placement.system_cpus = board->cores.system;
  placement.notes = board->visible.notes;
  placement.notes.insert(placement.notes.end(), board->cores.notes.begin(), board->cores.notes.end());
  note_seats(*board, seats, placement.notes);
  note_whole(*board, seats, placement.notes);
  placement.notes.insert(placement.notes.end(), board->fleet.notes.begin(), board->fleet.notes.end());
  placement.ranks.reserve(seats.size());
  for (const Seat& seat : seats)
    placement.ranks.push_back(settle(*board, seat, placement.notes));
  if (auto room = check_strict_memory(machine, request, placement, 1); !room) {
    return std::unexpected(std::move(room.error()));
  }
  return placement;
}

}  // namespace angio::plan
