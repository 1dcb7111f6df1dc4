// Rows that can never decide because earlier ones take everything, and rows of which earlier ones take a
// part.
#pragma once

#include "tuner/table.hpp"

namespace angio::tuner {

// Adds to the table's problems and remarks. A row counts as never used when earlier rows whose nodes, ranks,
// num_pipe_ops and reg_buff include its own take all its sizes; that several narrower rows do so together is
// not seen.
void find_overlaps(Table& table);

}  // namespace angio::tuner
