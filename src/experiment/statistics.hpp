// The mathematics of a comparison of two things run in turns: medians, and confidence intervals of their
// ratio from paired differences of logarithms. Nothing is thrown away as an outlier. Pure; no clock, no
// randomness.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace angio::experiment {

double median(std::vector<double> values);  // 0 of none
double mean(std::span<const double> values);
double standard_deviation(std::span<const double> values);  // of a sample (n - 1); 0 below two values

// Student's t: the value that a fraction p of the distribution stays below. degrees >= 1, 0 < p < 1.
double t_quantile(double p, double degrees);

struct Interval {
  double estimate = 0;
  double low = 0;
  double high = 0;
};

// Mean and t interval. None below two values.
std::optional<Interval> t_interval(std::span<const double> values, double confidence);

// Hodges and Lehmann's estimate with the exact interval of Wilcoxon's signed ranks (Hollander, Wolfe,
// Chicken: Nonparametric Statistical Methods, 3rd ed., 3.2 and 3.3): needs symmetry of the differences, not a
// normal distribution, and one wild run cannot move it. None when so few values cannot give that confidence
// (95 %: below six).
std::optional<Interval> signed_rank_interval(std::span<const double> values, double confidence);

// Least x with P(W+ <= x) >= p for n differences, W+ the sum of positive ranks.
std::uint64_t signed_rank_quantile(double p, std::uint32_t count);

// Pairs needed for a t interval that reaches no further than half_width to each side. At most 1e6.
std::uint32_t needed_pairs(double deviation, double half_width, double confidence);

}  // namespace angio::experiment
