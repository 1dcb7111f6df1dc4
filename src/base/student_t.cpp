#include "base/student_t.hpp"

#include <cmath>

namespace angio {
namespace {

// Regularised incomplete beta function by Lentz's evaluation of its continued fraction
// (NIST Digital Library of Mathematical Functions, 8.17.22).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kEnough = 1e-15;
  constexpr int kMost = 500;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= kMost; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < kEnough) break;
  }
  return result;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_t_distribution(double t, double degrees) {
  const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double p, double degrees) {
  if (p == 0.5) return 0;
  if (p < 0.5) return -student_t_quantile(1 - p, degrees);
  double low = 0;
  double high = 1;
  constexpr double kMost = 1e8;
  while (student_t_distribution(high, degrees) < p && high < kMost)
    high *= 2;
  constexpr int kHalvings = 100;
  for (int each = 0; each < kHalvings; ++each) {
    const double middle = (low + high) / 2;
    (student_t_distribution(middle, degrees) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace angio
