// The words of --collectives and --sizes. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "nccl_run/script.hpp"

namespace angio::dryrun {

// "allreduce,alltoall", "all". Errors name what there is.
Result<std::vector<nccl_run::Collective>> parse_collectives(std::string_view text);

// "8,64K,1M,1G" or "8:1G" (doubling) or "8:1G:4" (times four); K, M, G are powers of 1024 as in nccl-tests.
// Ascending, each once, at most kMostSizes.
inline constexpr std::size_t kMostSizes = 64;
Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text);

// Every collective at every size, in this order.
std::vector<nccl_run::Operation> make_operations(const std::vector<nccl_run::Collective>& collectives,
                                                 const std::vector<std::uint64_t>& sizes);

}  // namespace angio::dryrun
