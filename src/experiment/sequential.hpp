// Evidence that gathers pair by pair and may be looked at after every one: stopping because of what was seen
// costs nothing of the promised error. Each pair is a difference of logarithms of two runs whose order a coin
// chose. If the two settings do the same, that coin alone gave the difference its sign, whatever drift or
// memory the machine has; so a bet on the signs is fair and its wealth rarely grows (Ville: above 1/a with a
// chance of at most a, ever). The bets are those of de la Pena's symmetric test martingale, exp(z)/cosh(z).
// Pure; no clock, no randomness.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "experiment/statistics.hpp"

namespace angio::experiment {

// Against "the differences are symmetric about centre". Stakes are laid for differences of about
// `worthwhile`; a part of the money goes to smaller and to larger ones.
class SymmetryTest {
 public:
  SymmetryTest(double centre, double worthwhile);
  void add(double difference);
  // Logarithms of the wealth of who bets that the differences lie above (below) the centre.
  [[nodiscard]] double above() const { return above_; }
  [[nodiscard]] double below() const { return below_; }
  // The most that each, and half of both together, ever was.
  [[nodiscard]] double peak_above() const { return peak_above_; }
  [[nodiscard]] double peak_below() const { return peak_below_; }
  [[nodiscard]] double peak_both() const { return peak_both_; }

 private:
  static constexpr std::size_t kBets = 4;
  [[nodiscard]] double scale() const;
  double centre_;
  double worthwhile_;
  std::vector<double> sizes_;  // |difference - centre|, sorted
  double sum_ = 0;
  std::array<double, kBets> up_{};
  std::array<double, kBets> down_{};
  double above_ = 0;
  double below_ = 0;
  double peak_above_ = 0;
  double peak_below_ = 0;
  double peak_both_ = 0;
};

// The centres that such bets leave standing, valid whenever one looks. None while nothing is excluded on one
// of the sides.
std::optional<Interval> sequential_interval(std::span<const double> differences, double confidence,
                                            double worthwhile);

// Hodges and Lehmann's centre; of more than 2000 values the median. 0 of none.
double centre_of(std::span<const double> values);

// Holm's step-down over p values: which are rejected at level `alpha`.
std::vector<bool> holm(std::span<const double> p, double alpha);

}  // namespace angio::experiment
