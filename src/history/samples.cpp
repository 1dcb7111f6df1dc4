#include "history/samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace angio::history {
namespace {

constexpr std::size_t kExact = 50;

struct Ranked {
  double value;
  bool of_b;
};

// Number of pairs (a, b) with b > a, ties half; and what ties take from the variance.
struct Wins {
  double count = 0;
  double ties = 0;  // sum of t^3 - t
};

Wins wins_of(std::span<const double> a, std::span<const double> b) {
  std::vector<Ranked> all;
  for (const double value : a)
    all.push_back({value, false});
  for (const double value : b)
    all.push_back({value, true});
  std::ranges::sort(all, {}, &Ranked::value);
  Wins wins;
  double below = 0;  // of a
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    double of_a = 0;
    double of_b = 0;
    while (end < all.size() && all[end].value == all[begin].value)
      (all[end++].of_b ? of_b : of_a) += 1;
    wins.count += of_b * (below + of_a / 2);
    const double tied = of_a + of_b;
    wins.ties += tied * tied * tied - tied;
    below += of_a;
    begin = end;
  }
  return wins;
}

// P(U <= u), both samples alike: how many of the orders of n and m have so few wins (Mann, Whitney 1947).
double exact_chance(std::size_t n, std::size_t m, double u) {
  const std::size_t most = n * m;
  // counts[k]: ways to choose k of the first values for b, by the sum of their wins.
  std::vector<std::vector<double>> ways(m + 1, std::vector<double>(most + 1, 0));
  ways[0][0] = 1;
  // Each step adds one value of the sorted n + m: of b it wins against every a below, of a nothing.
  for (std::size_t placed = 0; placed < n + m; ++placed)
    for (std::size_t k = std::min(m, placed + 1); k-- > 0;) {
      if (placed < k) continue;
      const std::size_t below = placed - k;  // values of a before
      if (below > n) continue;
      for (std::size_t sum = most + 1; sum-- > 0;)
        if (ways[k][sum] > 0 && sum + below <= most) ways[k + 1][sum + below] += ways[k][sum];
    }
  double all = 0;
  double few = 0;
  for (std::size_t sum = 0; sum <= most; ++sum) {
    all += ways[m][sum];
    if (static_cast<double>(sum) <= u) few += ways[m][sum];
  }
  return few / all;
}

double normal_chance(double n, double m, const Wins& wins) {
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - wins.ties / (all * (all - 1)));
  if (variance <= 0) return 1;
  constexpr double kContinuity = 0.5;
  const double distance = std::max(0.0, std::abs(wins.count - n * m / 2) - kContinuity);
  return std::erfc(distance / std::sqrt(variance) / std::sqrt(2.0));
}

double ratio_of(std::span<const double> a, std::span<const double> b) {
  std::vector<double> ratios;
  for (const double before : a)
    for (const double after : b)
      if (before > 0 && after > 0) ratios.push_back(after / before);
  if (ratios.empty()) return 1;
  std::ranges::sort(ratios);
  const std::size_t middle = ratios.size() / 2;
  return ratios.size() % 2 == 1 ? ratios[middle] : (ratios[middle - 1] + ratios[middle]) / 2;
}

}  // namespace

TwoSamples compare_samples(std::span<const double> a, std::span<const double> b) {
  TwoSamples result;
  if (a.empty() || b.empty()) return result;
  result.ratio = ratio_of(a, b);
  const Wins wins = wins_of(a, b);
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  if (wins.ties > 0 || a.size() + b.size() > kExact) {
    result.chance = normal_chance(n, m, wins);
  } else {
    const double fewer = std::min(wins.count, n * m - wins.count);
    result.chance = std::min(1.0, 2 * exact_chance(a.size(), b.size(), fewer));
  }
  return result;
}

}  // namespace angio::history
