#include "experiment/sequential.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace angio::experiment {
namespace {

// Of the money at the start: on differences of the size that matters, on a third of it, and on two sizes in
// units of the spread, which find what is larger than was asked for.
constexpr std::array kShare{0.55, 0.10, 0.15, 0.20};
constexpr double kMiddling = 0.7;
constexpr double kPlain = 2.5;

double log_stake(double z) {  // log(exp(z) / cosh(z))
  constexpr double kFar = 30;
  return std::numbers::ln2 - std::log1p(std::exp(-2 * std::clamp(z, -kFar, kFar)));
}

double log_of_shares(const std::array<double, kShare.size()>& logs) {
  const double most = *std::ranges::max_element(logs);
  double sum = 0;
  for (std::size_t at = 0; at < logs.size(); ++at)
    sum += kShare[at] * std::exp(logs[at] - most);
  return most + std::log(sum);
}

double log_half_of_both(double a, double b) {
  const double most = std::max(a, b);
  return most + std::log((std::exp(a - most) + std::exp(b - most)) / 2);
}

}  // namespace

SymmetryTest::SymmetryTest(double centre, double worthwhile) : centre_(centre), worthwhile_(worthwhile) {}

// Of sizes alone, the present one included: the sign that is bet on is not known by it.
double SymmetryTest::scale() const {
  constexpr double kNormal = 1.4826;  // a normal distribution's deviation in units of its median size
  const std::size_t half = sizes_.size() / 2;
  const double middle = sizes_.size() % 2 == 1 ? sizes_[half] : (sizes_[half - 1] + sizes_[half]) / 2;
  return middle > 0 ? middle * kNormal : sum_ / static_cast<double>(sizes_.size());
}

void SymmetryTest::add(double difference) {
  const double distance = difference - centre_;
  const double size = std::abs(distance);
  sizes_.insert(std::ranges::upper_bound(sizes_, size), size);
  sum_ += size;
  const double unit = scale();
  if (unit > 0) {
    constexpr double kLeast = 0.05;
    constexpr double kMost = 2.5;
    const double wanted = worthwhile_ / unit;
    const std::array stakes{std::clamp(wanted, kLeast, kMost), std::clamp(wanted / 3, kLeast, kMost),
                            kMiddling, kPlain};
    for (std::size_t at = 0; at < stakes.size(); ++at) {
      const double z = stakes[at] * distance / unit;
      up_[at] += log_stake(z);
      down_[at] += log_stake(-z);
    }
  }
  above_ = log_of_shares(up_);
  below_ = log_of_shares(down_);
  peak_above_ = std::max(peak_above_, above_);
  peak_below_ = std::max(peak_below_, below_);
  peak_both_ = std::max(peak_both_, log_half_of_both(above_, below_));
}

double centre_of(std::span<const double> values) {
  constexpr std::size_t kMost = 2000;
  std::vector<double> averages(values.begin(), values.end());
  if (values.size() > kMost) return median(std::move(averages));
  for (std::size_t first = 0; first < values.size(); ++first) {
    for (std::size_t second = first + 1; second < values.size(); ++second)
      averages.push_back((values[first] + values[second]) / 2);
  }
  return median(std::move(averages));
}

std::optional<Interval> sequential_interval(std::span<const double> differences, double confidence,
                                            double worthwhile) {
  if (differences.empty()) return std::nullopt;
  const double limit = std::log(2 / (1 - confidence));
  const auto excluded = [&](double centre, bool low) {
    SymmetryTest test(centre, worthwhile);
    for (const double difference : differences)
      test.add(difference);
    return (low ? test.above() : test.below()) >= limit;
  };
  const double middle = centre_of(differences);
  const auto edge = [&](bool low) -> std::optional<double> {
    const auto [least, most] = std::ranges::minmax(differences);
    double outside = low ? least - (most - least) - worthwhile : most + (most - least) + worthwhile;
    if (!excluded(outside, low)) return std::nullopt;
    double inside = middle;
    constexpr int kHalvings = 40;
    for (int each = 0; each < kHalvings; ++each) {
      const double between = (inside + outside) / 2;
      (excluded(between, low) ? outside : inside) = between;
    }
    return inside;
  };
  const std::optional<double> low = edge(true);
  const std::optional<double> high = edge(false);
  if (!low || !high) return std::nullopt;
  return Interval{middle, *low, *high};
}

std::vector<bool> holm(std::span<const double> p, double alpha) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return p[at]; });
  std::vector<bool> rejected(p.size(), false);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    if (p[order[rank]] > alpha / static_cast<double>(p.size() - rank)) break;
    rejected[order[rank]] = true;
  }
  return rejected;
}

}  // namespace angio::experiment
