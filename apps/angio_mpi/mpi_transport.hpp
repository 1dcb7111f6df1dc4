// Collectives by MPI. Timed calls are the blocking ones, as a plain loop has them; start() takes the
// nonblocking ones. Buffers lie in host memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collective/transport.hpp"

namespace angio::mpi {

struct MpiOptions {
  // Elements of one call of MPI, whose counts are an int; more are split, or sent as one element of a larger
  // type.
  std::uint64_t most_count = std::uint64_t{1} << 30U;
};

// After MPI_Init.
Result<std::unique_ptr<collective::Transport>> make_mpi_transport(const MpiOptions& options = {});

// "Open MPI v4.1.4"
std::string library_version();

}  // namespace angio::mpi
