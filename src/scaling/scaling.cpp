#include "scaling/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "base/student_t.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "scaling/fit.hpp"

namespace angio::scaling {

std::string_view word_of(Mode mode) {
  return mode == Mode::kStrong ? "strong" : "weak";
}

namespace {

struct Moments {
  double mean = 0;  // of the logarithms
  double squares = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments moments;
  for (const double value : values)
    moments.mean += std::log(value) / static_cast<double>(values.size());
  for (const double value : values)
    moments.squares += std::pow(std::log(value) - moments.mean, 2);
  return moments;
}

// Relative noise of one result, the same at every N: what repeats at a few N tell of all.
struct Noise {
  double deviation = 0;
  double degrees = 0;

  // Half of the interval of a difference of two means.
  [[nodiscard]] std::optional<double> reach(double repeats, double others) const {
    if (degrees < 1) return std::nullopt;
    return student_t_quantile(0.5 + kConfidence / 2, degrees) * deviation *
           std::sqrt(1 / repeats + 1 / others);
  }
};

// Two rows that are too far apart for one measurement; many are a noisy one.
bool contradicts_itself(const Point& point) {
  if (point.values.size() != 2) return false;
  const auto [least, most] = std::ranges::minmax(point.values);
  return most > least * knowledge::threshold("scaling.spread");
}

Noise noise_of(const Series& series) {
  Noise noise;
  double squares = 0;
  for (const Point& point : series.points) {
    if (contradicts_itself(point)) continue;                              // no repeats
    if (std::ranges::min(point.values) < std::ranges::max(point.values))  // the sum of equal ones is rounded
      squares += moments_of(point.values).squares;
    noise.degrees += static_cast<double>(point.values.size()) - 1;
  }
  // Equal to the last digit everywhere: rows that were copied, or figures that were rounded, not a machine
  // without noise.
  if (squares <= 0) return {};
  noise.deviation = std::sqrt(squares / noise.degrees);
  return noise;
}

std::string devices(const Series& series, std::uint32_t count) {
  return count_of(count, printable(series.device));
}

std::string percent(double share) {
  constexpr double kPercent = 100;
  return fmt::format("{:.3g} %", share * kPercent);
}

// Points of one N put together, by N; or what is wrong with them.
Result<std::vector<Point>> sorted_points(const Series& series) {
  std::vector<Point> points;
  for (const Point& point : series.points) {
    if (point.count == 0)
      return fail(ErrorCode::kInvalidInput, "a result at N = 0", "N counts ranks or GPUs");
    for (const double value : point.values)
      if (!std::isfinite(value) || value <= 0)
        return fail(ErrorCode::kInvalidInput,
                    fmt::format("the result {:g} at {} is not above 0", value, devices(series, point.count)));
    if (point.values.empty()) continue;
    auto same = std::ranges::find(points, point.count, &Point::count);
    if (same == points.end()) {
      points.push_back(point);
    } else {
      same->values.insert(same->values.end(), point.values.begin(), point.values.end());
      same->lines.insert(same->lines.end(), point.lines.begin(), point.lines.end());
    }
  }
  std::ranges::sort(points, {}, &Point::count);
  return points;
}

// Of speed-ups, the N that has the value 1, within rounding.
std::optional<std::uint32_t> unit_point(const std::vector<Point>& points) {
  constexpr double kRounding = 0.005;
  for (const Point& point : points)
    if (std::ranges::all_of(point.values, [](double value) { return std::abs(value - 1) < kRounding; }))
      return point.count;
  return std::nullopt;
}

bool has_point(const std::vector<Point>& points, std::uint32_t count) {
  return std::ranges::find(points, count, &Point::count) != points.end();
}

std::string counts_of(const std::vector<Point>& points) {
  std::vector<std::string> counts;
  for (const Point& point : points)
    counts.push_back(std::to_string(point.count));
  return join(counts, ", ");
}

Result<std::uint32_t> chosen_baseline(Series& series, std::optional<std::uint32_t> wish) {
  std::vector<Point>& points = series.points;
  if (series.measure == Measure::kSpeedup) {
    const auto unit = unit_point(points);
    if (!wish && !unit)
      return fail(ErrorCode::kInvalidInput,
                  "speed-ups over a baseline that the table does not have: no row has a speed-up of 1",
                  "Say how many " + printable(series.device) + "s it was: --baseline N");
    const std::uint32_t baseline = wish ? *wish : *unit;
    if (unit && *unit != baseline)
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("the speed-ups are over {}, where the table has 1, not over {}",
                              devices(series, *unit), devices(series, baseline)),
                  "Leave out --baseline");
    if (!unit) {
      if (has_point(points, baseline))
        return fail(
            ErrorCode::kInvalidInput,
            fmt::format("{} cannot be the baseline: the speed-up there is not 1", devices(series, baseline)),
            "--baseline names the N that the speed-ups are over");
      points.push_back({baseline, {1}, {}});
      std::ranges::sort(points, {}, &Point::count);
    }
    return baseline;
  }
  if (points.empty()) return fail(ErrorCode::kInvalidInput, "there are no results");
  if (!wish) return points.front().count;
  if (!has_point(points, *wish))
    return fail(ErrorCode::kInvalidInput,
                fmt::format("there is no result at {} to be the baseline", devices(series, *wish)),
                "There are results at " + counts_of(points));
  return *wish;
}

// Log of the speed over the baseline.
double log_speedup(const Series& series, Mode mode, double mean, double base, double ideal) {
  if (series.measure == Measure::kTime) return base - mean + (mode == Mode::kWeak ? std::log(ideal) : 0);
  return mean - base + (series.per_device ? std::log(ideal) : 0);
}

std::optional<Interval> around(double estimate, std::optional<double> reach) {
  if (!reach) return std::nullopt;
  return Interval{estimate, estimate * std::exp(-*reach), estimate * std::exp(*reach)};
}

// Of the devices that were added, the share that arrived.
void add_gains(const Noise& noise, std::vector<ScaledPoint>& points) {
  for (std::size_t at = 1; at < points.size(); ++at) {
    const ScaledPoint& before = points[at - 1];
    ScaledPoint& point = points[at];
    const double added = static_cast<double>(point.count) / before.count - 1;
    const double ratio = point.speedup / before.speedup;
    constexpr double kRounding = 1e-12;
    point.gained = (std::abs(ratio - 1) < kRounding ? 0 : ratio - 1) / added;
    if (const auto range = around(ratio, noise.reach(point.repeats, before.repeats)))
      point.gained_range = Interval{*point.gained, (range->low - 1) / added, (range->high - 1) / added};
  }
}

std::optional<Knee> knee_of(const std::vector<ScaledPoint>& points) {
  const double limit = knowledge::threshold("scaling.knee");
  const auto falls = [&](const ScaledPoint& point) { return point.gained && *point.gained < limit; };
  const auto first = std::ranges::find_if(points, falls);
  if (first == points.end()) return std::nullopt;
  Knee knee;
  knee.after = std::prev(first)->count;
  knee.next = first->count;
  knee.gained = *first->gained;
  const auto again =
      std::find_if(first, points.end(), [&](const ScaledPoint& point) { return !falls(point); });
  if (again != points.end()) {
    knee.certainty = Certainty::kUncertain;
    knee.why =
        fmt::format("from {} to {} more than half arrives again", std::prev(again)->count, again->count);
  } else if (!first->gained_range) {
    knee.why = "no repeats tell how much of it is noise";
  } else if (first->gained_range->high >= limit) {
    knee.certainty = Certainty::kUncertain;
    knee.why = fmt::format("with the noise of the repeats it may be {} to {}",
                           percent(first->gained_range->low), percent(first->gained_range->high));
  } else {
    knee.certainty = Certainty::kClear;
  }
  return knee;
}

void remark_super_linear(Scaling& scaling) {
  std::vector<std::string> where;
  double most = 0;
  for (const ScaledPoint& point : scaling.points) {
    const double least = point.range ? point.range->low : point.efficiency;
    const double limit = point.range ? 1 : 1 + knowledge::threshold("scaling.super-linear");
    if (point.count <= scaling.baseline || least <= limit) continue;
    where.push_back(std::to_string(point.count));
    most = std::max(most, point.efficiency);
  }
  if (where.empty()) return;
  scaling.remarks.push_back(
      {RemarkKind::kSuperLinear,
       fmt::format(
           "faster than ideal at {} (up to {}). Is the baseline at {} slow (its memory full, "
           "activations recomputed, a smaller batch, cold caches, a shared machine), or is the work not "
           "what the mode says?",
           join(where, ", "), percent(most), devices(scaling.series, scaling.baseline)),
       {}});
}

void remark_spread(const Point& point, Scaling& scaling) {
  const auto [least, most] = std::ranges::minmax_element(point.values);
  if (*most <= *least * knowledge::threshold("scaling.spread")) return;
  std::string where;
  std::vector<std::uint32_t> lines;
  if (point.lines.size() == point.values.size()) {
    lines = {point.lines[static_cast<std::size_t>(least - point.values.begin())],
             point.lines[static_cast<std::size_t>(most - point.values.begin())]};
    where = fmt::format(" (lines {} and {})", std::min(lines[0], lines[1]), std::max(lines[0], lines[1]));
  }
  const bool contradiction = contradicts_itself(point);
  scaling.remarks.push_back(
      {contradiction ? RemarkKind::kContradictory : RemarkKind::kSpread,
       fmt::format("{} at {}: {:.6g} to {:.6g}{}{}",
                   contradiction ? "rows contradict each other" : "the repeats differ",
                   devices(scaling.series, point.count), *least, *most, where,
                   contradiction
                       ? "; are they of different settings? Then a column that says which, or one table "
                         "for each"
                       : ""),
       lines});
}

std::string efficiency_words(const ScaledPoint& point) {
  std::string words = percent(point.efficiency) + " of ideal";
  if (point.range) words += fmt::format(" ({} to {})", percent(point.range->low), percent(point.range->high));
  return words;
}

std::string answer_of(const Scaling& scaling) {
  const ScaledPoint& last = scaling.points.back();
  const Series& series = scaling.series;
  if (last.count == scaling.baseline)
    return fmt::format("The baseline of {} is the largest N of the table.", devices(series, last.count));
  std::string words =
      scaling.mode == Mode::kStrong
          ? fmt::format("{} do the work {:.3g} times as fast as {}: {}.", devices(series, last.count),
                        last.speedup, scaling.baseline, efficiency_words(last))
          : fmt::format("{} do {:.3g} times the work of {} in the same time: {}.",
                        devices(series, last.count), last.speedup, scaling.baseline, efficiency_words(last));
  if (scaling.knee) {
    words += scaling.knee->gained <= 0
                 ? fmt::format(" Beyond {} more make it no faster", devices(series, scaling.knee->after))
                 : fmt::format(" Efficiency falls off beyond {}: of what is added up to {}, {} arrives",
                               devices(series, scaling.knee->after), scaling.knee->next,
                               percent(scaling.knee->gained));
    words += scaling.knee->certainty == Certainty::kClear ? "." : " (" + scaling.knee->why + ").";
  }
  return words;
}

std::vector<Observation> observations(const Scaling& scaling, double unit) {
  std::vector<Observation> seen;
  for (std::size_t at = 0; at < scaling.points.size(); ++at) {
    const ScaledPoint& point = scaling.points[at];
    seen.push_back({point.count / unit, std::log(point.speedup), point.repeats,
                    moments_of(scaling.series.points[at].values).squares});
  }
  return seen;
}

void add_points(const Noise& noise, Scaling& scaling) {
  const auto base = std::ranges::find(scaling.series.points, scaling.baseline, &Point::count);
  const double base_mean = moments_of(base->values).mean;
  for (const Point& point : scaling.series.points) {
    ScaledPoint scaled;
    const double mean = moments_of(point.values).mean;
    scaled.count = point.count;
    scaled.repeats = static_cast<std::uint32_t>(point.values.size());
    scaled.value = std::exp(mean);
    scaled.ideal = static_cast<double>(point.count) / scaling.baseline;
    scaled.speedup = std::exp(log_speedup(scaling.series, scaling.mode, mean, base_mean, scaled.ideal));
    scaled.efficiency = scaled.speedup / scaled.ideal;
    if (point.count != scaling.baseline)
      scaled.range =
          around(scaled.efficiency, noise.reach(scaled.repeats, static_cast<double>(base->values.size())));
    scaling.points.push_back(scaled);
  }
}

bool has_copies(const Scaling& scaling) {
  return std::ranges::any_of(scaling.series.points, [](const Point& point) {
    return point.values.size() > 1 && std::ranges::min(point.values) >= std::ranges::max(point.values);
  });
}

}  // namespace

Result<Scaling> analyse(const Series& series, Mode mode, std::optional<std::uint32_t> baseline) {
  Scaling scaling;
  scaling.series = series;
  scaling.mode = mode;
  auto points = sorted_points(series);
  if (!points) return std::unexpected(std::move(points.error()));
  scaling.series.points = std::move(*points);
  const auto chosen = chosen_baseline(scaling.series, baseline);
  if (!chosen) return std::unexpected(chosen.error());
  scaling.baseline = *chosen;
  if (scaling.series.points.size() < 2)
    return fail(ErrorCode::kInvalidInput,
                fmt::format("results at one N only ({}): nothing to compare with",
                            devices(series, scaling.series.points.front().count)),
                "Scaling needs results at two N or more");
  const Noise noise = noise_of(scaling.series);
  if (noise.degrees >= 1) scaling.noise = noise.deviation;
  add_points(noise, scaling);
  add_gains(noise, scaling.points);
  scaling.knee = knee_of(scaling.points);
  scaling.split = fit_split(observations(scaling, scaling.baseline), mode, scaling.no_split);
  scaling.growth = fit_growth(observations(scaling, 1), mode, scaling.no_growth);
  for (const Point& point : scaling.series.points)
    remark_spread(point, scaling);
  remark_super_linear(scaling);
  if (noise.degrees < 1)
    scaling.remarks.push_back({RemarkKind::kNoRepeats,
                               has_copies(scaling)
                                   ? "the repeats are equal to the last digit, so they tell nothing of "
                                     "noise: copied or rounded? No interval can be given"
                                   : "one result for each N: no interval can be given. Repeat the runs",
                               {}});
  scaling.answer = answer_of(scaling);
  return scaling;
}

}  // namespace angio::scaling
