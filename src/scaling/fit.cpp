#include "scaling/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/student_t.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::scaling {
namespace {

// Log of the speed at `count` times the devices, if `serial` of the work does not get faster.
double law(Mode mode, double serial, double count) {
  if (mode == Mode::kStrong) return -std::log(serial + (1 - serial) / count);
  return std::log(count - serial * (count - 1));
}

struct Fit {
  double level = 0;  // log of the speed of the curve at the baseline
  double squares = 0;
  double worst = 0;
};

Fit fit_at(std::span<const Observation> seen, Mode mode, double serial) {
  double sum = 0;
  double weight = 0;
  for (const Observation& one : seen) {
    sum += one.repeats * (one.log_speedup - law(mode, serial, one.count));
    weight += one.repeats;
  }
  Fit fit{sum / weight, 0, 0};
  for (const Observation& one : seen) {
    const double rest = one.log_speedup - law(mode, serial, one.count) - fit.level;
    fit.squares += one.repeats * rest * rest + one.squares;
    fit.worst = std::max(fit.worst, std::abs(std::expm1(rest)));
  }
  return fit;
}

// Shares from 0 and 1e-6 to 1, so that thousands of devices find their small ones.
std::vector<double> grid() {
  constexpr int kSteps = 240;
  constexpr double kLeast = -6;  // power of ten
  std::vector<double> shares{0};
  for (int at = 0; at <= kSteps; ++at)
    shares.push_back(std::pow(10, kLeast * (1 - static_cast<double>(at) / kSteps)));
  return shares;
}

double least_between(std::span<const Observation> seen, Mode mode, double low, double high) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr int kRounds = 80;
  for (int round = 0; round < kRounds; ++round) {
    const double left = high - kGolden * (high - low);
    const double right = low + kGolden * (high - low);
    if (fit_at(seen, mode, left).squares <= fit_at(seen, mode, right).squares) {
      high = right;
    } else {
      low = left;
    }
  }
  return (low + high) / 2;
}

// Where the sum of squares crosses `limit`, between a share inside and one outside.
double crossing(std::span<const Observation> seen, Mode mode, double inside, double outside, double limit) {
  if (fit_at(seen, mode, outside).squares <= limit) return outside;
  constexpr int kHalvings = 60;
  for (int each = 0; each < kHalvings; ++each) {
    const double middle = (inside + outside) / 2;
    (fit_at(seen, mode, middle).squares <= limit ? inside : outside) = middle;
  }
  return (inside + outside) / 2;
}

double results_of(std::span<const Observation> seen) {
  double results = 0;
  for (const Observation& one : seen)
    results += one.repeats;
  return results;
}

// ---- growth

constexpr std::size_t kMostTerms = 4;

double term_value(Term term, double count) {
  switch (term) {
    case Term::kPerDevice:
      return 1 / count;
    case Term::kConstant:
      return 1;
    case Term::kLogarithm:
      return std::log2(count);
    case Term::kLinear:
      return count;
  }
  return 0;
}

// Solves the symmetric system in place; false: it has no one solution.
bool solve(std::array<std::array<double, kMostTerms + 1>, kMostTerms>& rows, std::size_t size) {
  constexpr double kSingular = 1e-12;
  for (std::size_t at = 0; at < size; ++at) {
    std::size_t pivot = at;
    for (std::size_t row = at + 1; row < size; ++row)
      if (std::abs(rows[row][at]) > std::abs(rows[pivot][at])) pivot = row;
    if (std::abs(rows[pivot][at]) < kSingular) return false;
    std::swap(rows[at], rows[pivot]);
    for (std::size_t row = 0; row < size; ++row) {
      if (row == at) continue;
      const double factor = rows[row][at] / rows[at][at];
      for (std::size_t column = at; column <= kMostTerms; ++column)
        rows[row][column] -= factor * rows[at][column];
    }
  }
  return true;
}

struct Candidate {
  std::vector<Term> terms;
  std::vector<double> coefficients;
  double squares = 0;
  double worst = 0;
  double criterion = 0;  // Schwarz's: the least is the likeliest
};

// Of an arbitrary unit: shares are what counts.
double time_at(const Observation& one, Mode mode) {
  const double speed = std::exp(one.log_speedup);
  return mode == Mode::kStrong ? 1 / speed : one.count / speed;
}

// Relative errors weigh: each point's equation is divided by its time. Columns are scaled to 1 at the largest
// N.
std::optional<Candidate> fit_terms(std::span<const Observation> seen, std::span<const double> times,
                                   std::vector<Term> terms) {
  const std::size_t size = terms.size();
  std::array<double, kMostTerms> scale{};
  for (std::size_t at = 0; at < size; ++at)
    for (const Observation& one : seen)
      scale[at] = std::max(scale[at], std::abs(term_value(terms[at], one.count)));
  std::array<std::array<double, kMostTerms + 1>, kMostTerms> rows{};
  const auto cell = [&](std::size_t point, std::size_t term) {
    return scale[term] > 0 ? term_value(terms[term], seen[point].count) / scale[term] / times[point] : 0;
  };
  for (std::size_t point = 0; point < seen.size(); ++point)
    for (std::size_t row = 0; row < size; ++row) {
      for (std::size_t column = 0; column < size; ++column)
        rows[row][column] += cell(point, row) * cell(point, column);
      rows[row][kMostTerms] += cell(point, row);
    }
  if (!solve(rows, size)) return std::nullopt;
  Candidate candidate;
  candidate.terms = std::move(terms);
  for (std::size_t at = 0; at < size; ++at) {
    const double value = rows[at][kMostTerms] / rows[at][at];
    if (value < 0 || !std::isfinite(value)) return std::nullopt;  // no time is negative
    candidate.coefficients.push_back(value / scale[at]);
  }
  for (std::size_t point = 0; point < seen.size(); ++point) {
    double model = 0;
    for (std::size_t at = 0; at < size; ++at)
      model += candidate.coefficients[at] * term_value(candidate.terms[at], seen[point].count);
    const double rest = model / times[point] - 1;
    candidate.squares += rest * rest;
    candidate.worst = std::max(candidate.worst, std::abs(rest));
  }
  return candidate;
}

void rate(Candidate& candidate, double points) {
  // Figures of a table have three or four digits: what lies closer says nothing.
  constexpr double kRounding = 1e-7;
  const double parameters = static_cast<double>(candidate.terms.size()) + 1;
  candidate.criterion =
      points * std::log(std::max(candidate.squares / points, kRounding)) + parameters * std::log(points);
}

std::vector<Candidate> candidates(std::span<const Observation> seen, Mode mode) {
  std::vector<double> times;
  for (const Observation& one : seen)
    times.push_back(time_at(one, mode));
  std::vector<Term> base{Term::kConstant};
  std::vector<Term> extra{Term::kLogarithm, Term::kLinear};
  if (mode == Mode::kStrong) {
    base = {Term::kPerDevice};
    extra.insert(extra.begin(), Term::kConstant);
  }
  std::vector<Candidate> found;
  for (std::uint32_t choice = 0; choice < (1U << extra.size()); ++choice) {
    std::vector<Term> terms = base;
    for (std::size_t at = 0; at < extra.size(); ++at)
      if ((choice >> at & 1U) != 0) terms.push_back(extra[at]);
    if (terms.size() + 2 > seen.size()) continue;  // fewer points are met by anything
    if (auto candidate = fit_terms(seen, times, std::move(terms))) {
      rate(*candidate, static_cast<double>(seen.size()));
      found.push_back(std::move(*candidate));
    }
  }
  std::ranges::sort(found, {}, &Candidate::criterion);
  return found;
}

Growth growth_of(const Candidate& best, double largest) {
  Growth growth;
  growth.worst = best.worst;
  double all = 0;
  for (std::size_t at = 0; at < best.terms.size(); ++at)
    all += best.coefficients[at] * term_value(best.terms[at], largest);
  for (std::size_t at = 0; at < best.terms.size(); ++at)
    growth.terms.push_back({best.terms[at],
                            all > 0 ? best.coefficients[at] * term_value(best.terms[at], largest) / all : 0,
                            best.coefficients[at]});
  return growth;
}

}  // namespace

std::optional<Split> fit_split(std::span<const Observation> seen, Mode mode, std::string& why) {
  if (seen.size() < 2) {
    why = "it needs results at two N or more";
    return std::nullopt;
  }
  const std::vector<double> shares = grid();
  std::size_t best = 0;
  for (std::size_t at = 1; at < shares.size(); ++at)
    if (fit_at(seen, mode, shares[at]).squares < fit_at(seen, mode, shares[best]).squares) best = at;
  Split split;
  split.serial = best == 0 && fit_at(seen, mode, shares[1]).squares >= fit_at(seen, mode, 0).squares
                     ? 0
                     : least_between(seen, mode, shares[best > 0 ? best - 1 : 0],
                                     shares[std::min(best + 1, shares.size() - 1)]);
  const Fit fit = fit_at(seen, mode, split.serial);
  split.worst = fit.worst;
  split.fits = fit.worst <= knowledge::threshold("scaling.split-fits");
  const double degrees = results_of(seen) - 2;
  if (seen.size() >= 3 && degrees >= 1) {
    const double t = student_t_quantile(0.5 + kConfidence / 2, degrees);
    // What rounding alone leaves is no certainty.
    constexpr double kLeastSquares = 1e-9;
    const double limit = std::max(fit.squares, kLeastSquares) * (1 + t * t / degrees);
    split.range = Interval{split.serial, crossing(seen, mode, split.serial, 0, limit),
                           crossing(seen, mode, split.serial, 1, limit)};
  }
  return split;
}

std::optional<Growth> fit_growth(std::span<const Observation> seen, Mode mode, std::string& why) {
  constexpr std::size_t kFewest = 5;  // three terms and two points to spare
  if (seen.size() < kFewest) {
    why = fmt::format("it needs results at {} N, there are {}", kFewest, seen.size());
    return std::nullopt;
  }
  const std::vector<Candidate> found = candidates(seen, mode);
  if (found.empty() || found.front().worst > knowledge::threshold("scaling.split-fits")) {
    why = "no sum of terms that grow with N describes the points";
    return std::nullopt;
  }
  Growth growth = growth_of(found.front(), std::ranges::max(seen, {}, &Observation::count).count);
  // Raftery, Bayesian Model Selection in Social Research, 1995, table 6: below 2, not worth more than a
  // mention.
  constexpr double kAsLikely = 2;
  // One more term says nothing against those that are there.
  growth.ambiguous = std::ranges::any_of(found, [&](const Candidate& other) {
    const bool lacks_one = std::ranges::any_of(found.front().terms, [&](Term term) {
      return std::ranges::find(other.terms, term) == other.terms.end();
    });
    return lacks_one && other.criterion - found.front().criterion < kAsLikely;
  });
  return growth;
}

}  // namespace angio::scaling
