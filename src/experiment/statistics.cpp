#include "experiment/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/student_t.hpp"

namespace angio::experiment {
namespace {

// Counts of the subsets of 1 … count by their sum, as probabilities.
std::vector<double> signed_rank_distribution(std::uint32_t count) {
  const std::size_t most = std::size_t{count} * (count + 1) / 2;
  std::vector<double> chance(most + 1);
  chance[0] = 1;
  std::size_t reached = 0;
  for (std::size_t rank = 1; rank <= count; ++rank) {
    reached += rank;
    for (std::size_t sum = reached + 1; sum-- > 0;)
      chance[sum] = (chance[sum] + (sum >= rank ? chance[sum - rank] : 0)) / 2;
  }
  return chance;
}

double normal_quantile(double p) {
  constexpr double kNearlyNormal = 1e7;
  return t_quantile(p, kNearlyNormal);
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values)
    sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double t_quantile(double p, double degrees) {
  return student_t_quantile(p, degrees);
}

std::optional<Interval> t_interval(std::span<const double> values, double confidence) {
  if (values.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  const double reach =
      t_quantile(0.5 + confidence / 2, count - 1) * standard_deviation(values) / std::sqrt(count);
  const double middle = mean(values);
  return Interval{middle, middle - reach, middle + reach};
}

std::uint64_t signed_rank_quantile(double p, std::uint32_t count) {
  // Beyond it the normal approximation is closer than the runs are alike.
  constexpr std::uint32_t kExact = 200;
  if (count > kExact) {
    const double n = count;
    const double middle = n * (n + 1) / 4;
    const double deviation = std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
    return static_cast<std::uint64_t>(std::max(0.0, std::floor(middle + normal_quantile(p) * deviation)));
  }
  const std::vector<double> chance = signed_rank_distribution(count);
  double sum = 0;
  for (std::size_t at = 0; at < chance.size(); ++at) {
    sum += chance[at];
    if (sum >= p) return at;
  }
  return chance.size() - 1;
}

std::optional<Interval> signed_rank_interval(std::span<const double> values, double confidence) {
  const std::uint64_t rank =
      signed_rank_quantile((1 - confidence) / 2, static_cast<std::uint32_t>(values.size()));
  if (rank == 0) return std::nullopt;
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t first = 0; first < values.size(); ++first) {
    for (std::size_t second = first; second < values.size(); ++second)
      averages.push_back((values[first] + values[second]) / 2);
  }
  std::ranges::sort(averages);
  return Interval{median(averages), averages[rank - 1], averages[averages.size() - rank]};
}

std::uint32_t needed_pairs(double deviation, double half_width, double confidence) {
  constexpr std::uint32_t kMost = 1000000;
  if (deviation <= 0) return 2;
  if (half_width <= 0) return kMost;
  const auto reach = [&](std::uint32_t count) {
    return t_quantile(0.5 + confidence / 2, count - 1.0) * deviation / std::sqrt(static_cast<double>(count));
  };
  std::uint32_t low = 2;
  std::uint32_t high = kMost;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (reach(middle) <= half_width) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace angio::experiment
