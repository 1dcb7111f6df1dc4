// The ranks of a placement before their shares are cut: what is known of the machine, which GPU each rank
// takes, where that is at home and which part of the node is its own. Used by placement and rank_placement.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "plan/adapters.hpp"
#include "plan/cores.hpp"
#include "plan/locate.hpp"
#include "plan/plan.hpp"
#include "plan/visible.hpp"

namespace angio::plan {

// Everything that does not depend on a rank.
struct Board {
  const model::Machine& machine;
  const PlanRequest& request;
  Visible visible;
  Cores cores;
  Fleet fleet;
};

Result<Board> make_board(const model::Machine& machine, const PlanRequest& request);

struct Seat {
  std::uint32_t rank = 0;
  std::optional<VisibleGpu> gpu;
  Place place;
  Slot slot;                     // of the pool's cores
  Slot at_home;                  // the same if no mask moved any rank off its node
  std::uint32_t sharers = 1;     // ranks on this pool, this one included
  std::uint32_t of_package = 1;  // ranks on the pools of this package
  CpuSet neighbours;             // their local ranks; empty: not known
  bool cut = false;              // the mask was made for this rank alone: taken whole
  Adapters adapters;
};

// One seat a rank; rank i takes GPU i of those visible, in turn.
std::vector<Seat> make_seats(const Board& board, std::uint32_t ranks);

// The same GPU or device for a seat outside that order.
Place locate_device(const Board& board, const VisibleGpu& device);

// Adapters for these seats, as if no others were there.
void seat_adapters(const Board& board, std::vector<Seat>& seats);

// Ranks without the number being said: one for each visible GPU, else one for each node with cores.
std::uint32_t default_ranks(const Board& board);

// The share, the memory, the threads and the words of one seat.
model::RankPlacement settle(const Board& board, const Seat& seat, std::vector<model::Note>& notes);

}  // namespace angio::plan
