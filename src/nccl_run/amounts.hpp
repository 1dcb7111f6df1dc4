// How many elements a rank passes to NCCL for an operation of so many bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl_run/script.hpp"

namespace angio::nccl_run {

// Operation::bytes is the larger of a rank's two buffers. The count that NCCL's function takes is of all
// elements for some collectives and of one rank's share for others; at least one element, so that a size
// below that is rounded up.
std::size_t element_count(const Operation& operation, std::uint32_t world, std::size_t element_bytes);

// Bytes of the larger buffer that the calls of all operations need.
std::uint64_t buffer_bytes(const std::vector<Operation>& operations, std::uint32_t world,
                           std::size_t element_bytes);

}  // namespace angio::nccl_run
