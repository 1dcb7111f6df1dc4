// The times of all ranks to one row: what nccl-tests prints, percentiles of single iterations, and iterations
// that stand out. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/collective_run.hpp"

namespace angio::collective {

// Linear between the two nearest; values sorted. Of nothing: 0.
double quantile(std::span<const double> sorted, double share);

// samples: a list of each rank, one time an iteration; an iteration lasts as long as on its slowest rank.
// Fills the five times and the outliers of the row: iterations far above the median, in terms of the median
// distance from it (MAD) and by half the median at least; the slowest first, no more than `most`.
void take_samples(const std::vector<std::vector<double>>& samples, model::CollectiveRow& row,
                  std::size_t most = 8);

// Mean over the ranks, bandwidths by nccl-tests' formulas.
void take_batches(std::span<const double> batch_us, std::uint32_t ranks, model::CollectiveRow& row);

// Rounds of pairs of ranks in which no rank takes part twice; together every pair once.
using RankPair = std::pair<std::uint32_t, std::uint32_t>;
std::vector<std::vector<RankPair>> pair_rounds(std::uint32_t ranks);

}  // namespace angio::collective
