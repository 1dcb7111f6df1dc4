// Every collective of a back end once, out of place and in place, in all types and reductions, in groups and
// begun several at a time, with the data held against what it must be. `angio-mpi check`, `angio-gloo check`:
// for a new installation, and for the tests. Not a measurement.
#pragma once

#include <cstdint>
#include <string>

#include "collective/transport.hpp"

namespace angio::backend {

// How many calls were right, and how many refused, in words. Error: the first that failed or whose data is
// wrong, with the place. count: elements of a call. Collective over all ranks.
Result<std::string> check_transport(collective::Transport& transport, std::uint64_t count);

}  // namespace angio::backend
