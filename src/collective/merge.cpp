#include "collective/merge.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace angio::collective {
namespace {

struct Iteration {
  double time = 0;
  std::uint32_t rank = 0;
};

std::vector<Iteration> slowest_of_each(const std::vector<std::vector<double>>& samples) {
  std::vector<Iteration> iterations;
  for (std::uint32_t rank = 0; rank < samples.size(); ++rank) {
    if (iterations.size() < samples[rank].size()) iterations.resize(samples[rank].size());
    for (std::size_t i = 0; i < samples[rank].size(); ++i) {
      if (samples[rank][i] > iterations[i].time) iterations[i] = {samples[rank][i], rank};
    }
  }
  return iterations;
}

double median_distance(const std::vector<Iteration>& iterations, double median) {
  std::vector<double> distances;
  for (const Iteration& one : iterations)
    distances.push_back(std::abs(one.time - median));
  std::ranges::sort(distances);
  return quantile(distances, 0.5);
}

}  // namespace

double quantile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

void take_samples(const std::vector<std::vector<double>>& samples, model::CollectiveRow& row,
                  std::size_t most) {
  const std::vector<Iteration> iterations = slowest_of_each(samples);
  if (iterations.empty()) return;
  std::vector<double> sorted;
  for (const Iteration& one : iterations)
    sorted.push_back(one.time);
  std::ranges::sort(sorted);
  row.minimum_us = sorted.front();
  row.median_us = quantile(sorted, 0.5);
  row.p95_us = quantile(sorted, 0.95);
  row.p99_us = quantile(sorted, 0.99);
  row.maximum_us = sorted.back();
  // A normal distribution's deviation is 1.4826 MAD; ten of them are no chance at any number of iterations.
  constexpr double kFar = 10 * 1.4826;
  const double limit =
      row.median_us + std::max(kFar * median_distance(iterations, row.median_us), row.median_us / 2);
  for (std::uint32_t i = 0; i < iterations.size(); ++i) {
    if (iterations[i].time > limit) row.outliers.push_back({i, iterations[i].rank, iterations[i].time});
  }
  std::ranges::sort(row.outliers, std::ranges::greater(), &model::CollectiveOutlier::time_us);
  if (row.outliers.size() > most) row.outliers.resize(most);
}

void take_batches(std::span<const double> batch_us, std::uint32_t ranks, model::CollectiveRow& row) {
  double sum = 0;
  for (const double one : batch_us)
    sum += one;
  if (batch_us.empty() || row.iterations == 0) return;
  row.time_us = sum / static_cast<double>(batch_us.size()) / row.iterations;
  if (row.time_us <= 0) return;
  constexpr double kMicro = 1e-6;
  row.algorithm = {static_cast<double>(row.size.value) / (row.time_us * kMicro)};
  row.bus = {row.algorithm.value * model::bus_factor(row.collective, ranks).value_or(0)};
}

std::vector<std::vector<RankPair>> pair_rounds(std::uint32_t ranks) {
  std::vector<std::vector<RankPair>> rounds;
  if (ranks < 2) return rounds;
  // The circle method: seat 0 stays, the others move on; with an odd number one seat is empty.
  const std::uint32_t seats = ranks + ranks % 2;
  for (std::uint32_t round = 0; round + 1 < seats; ++round) {
    std::vector<RankPair> pairs;
    for (std::uint32_t i = 0; i < seats / 2; ++i) {
      const auto seated = [&](std::uint32_t seat) {
        return seat == 0 ? 0 : 1 + (seat - 1 + round) % (seats - 1);
      };
      const std::uint32_t first = seated(i);
      const std::uint32_t second = seated(seats - 1 - i);
      if (first < ranks && second < ranks)
        pairs.emplace_back(std::min(first, second), std::max(first, second));
    }
    std::ranges::sort(pairs);
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

}  // namespace angio::collective
