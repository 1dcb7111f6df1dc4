// What a user must know of a placement as a whole: unknown nodes, shared GPUs, masks that miss a GPU's node,
// nodes that idle, adapters on the far side. Says what it costs; changes nothing.
#pragma once

#include <vector>

#include "plan/seats.hpp"

namespace angio::plan {

// Notes about these seats, one of each kind and cause.
void note_seats(const Board& board, const std::vector<Seat>& seats, std::vector<model::Note>& notes);

// Notes that need all ranks of the machine: GPUs without ranks, ranks without a GPU of their own, idle nodes.
void note_whole(const Board& board, const std::vector<Seat>& seats, std::vector<model::Note>& notes);

}  // namespace angio::plan
