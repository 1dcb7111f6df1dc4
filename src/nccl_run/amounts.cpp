#include "nccl_run/amounts.hpp"

#include <algorithm>

namespace angio::nccl_run {
namespace {

// Each rank has one part of the buffer, and NCCL's function is told the size of a part.
bool is_in_parts(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter ||
         collective == Collective::kAllToAll;
}

}  // namespace

std::size_t element_count(const Operation& operation, std::uint32_t world, std::size_t element_bytes) {
  const std::uint64_t elements = operation.bytes / element_bytes;
  const std::uint64_t count = is_in_parts(operation.collective) ? elements / std::max(world, 1U) : elements;
  return std::max<std::uint64_t>(count, 1);
}

std::uint64_t buffer_bytes(const std::vector<Operation>& operations, std::uint32_t world,
                           std::size_t element_bytes) {
  std::uint64_t most = 0;
  for (const Operation& operation : operations) {
    const std::uint64_t parts = is_in_parts(operation.collective) ? world : 1;
    most = std::max(most, element_count(operation, world, element_bytes) * parts * element_bytes);
  }
  return most;
}

}  // namespace angio::nccl_run
