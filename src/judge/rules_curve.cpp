// What the shape of a curve says: too low at its end, late at its start, a dip, two halves that differ, data
// that is wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.hpp"
#include "judge/case.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::judge {
namespace {

using diagnose::Draft;
using diagnose::Outcome;

bool no_curve(const Case& facts, Outcome& outcome) {
  if (!facts.points.empty()) return false;
  outcome.not_applicable();
  return true;
}

std::string why_none(const std::vector<const Point*>& points) {
  for (const Point* point : points)
    if (!point->expectation && !point->no_expectation.empty()) return point->no_expectation;
  return "only the wire is known for this platform, which is a bound";
}

model::Evidence seen(const Point& point) {
  std::string text =
      fmt::format("{}: {} in {:.1f} us", name_of(point), in_gigabytes(point.bus.value), point.time_us);
  if (point.expectation)
    text += fmt::format(", expected {} ({} to {})", in_gigabytes(point.expectation->bus.value),
                        in_gigabytes(point.expectation->bus_low.value),
                        in_gigabytes(point.expectation->bus_high.value));
  return {std::move(text), point.place};
}

// The point that stands for others: the largest size, out of place first.
const Point* largest(const std::vector<const Point*>& points) {
  const Point* best = nullptr;
  for (const Point* point : points)
    if (best == nullptr || point->size > best->size) best = point;
  return best;
}

}  // namespace

void wrong_data(const Case& facts, Outcome& outcome) {
  if (no_curve(facts, outcome)) return;
  Draft draft;
  std::size_t rows = 0;
  bool checked = false;
  for (const Point& point : facts.points) {
    checked = checked || point.wrong.has_value();
    if (point.wrong.value_or(0) == 0) continue;
    constexpr std::size_t kShown = 3;
    if (++rows <= kShown)
      draft.evidence.push_back(
          {fmt::format("{}: {} wrong elements", name_of(point), *point.wrong), point.place});
  }
  if (rows > 0) {
    draft.title = fmt::format("{}: the data was wrong in {}; none of its figures counts", facts.subject,
                              count_of(rows, "row"));
    draft.rank = 1;
    outcome.fire(std::move(draft));
  } else if (!checked) {
    outcome.undecided("whether the data was right: the result was not checked",
                      "run it with the check on (-c 1)");
  }
}

void low_bandwidth(const Case& facts, Outcome& outcome) {
  if (no_curve(facts, outcome)) return;
  const std::vector<const Point*> points = plateau(facts);
  if (points.empty()) {
    outcome.undecided("what large messages reach: the sizes end below 16 MiB", "run it up to 1 GiB (-e 1G)");
    return;
  }
  const auto middle = middle_share(points);
  if (!middle) {
    outcome.undecided("whether the bandwidth is low: " + why_none(points),
                      "name the hardware: --topo SNAP, --gpu NAME, --nodes N, --gpus-per-node N");
    return;
  }
  if (*middle >= 1) return;
  const Point& point = *largest(points);
  Draft draft;
  const auto& expected = point.expectation;
  const double share = expected ? point.bus / expected->bus : *middle;
  draft.title = fmt::format("{}: {} at {}, {} of what this hardware reaches", facts.subject,
                            in_gigabytes(point.bus.value), in_words(point.size), percent(share));
  draft.evidence.push_back(seen(point));
  if (expected && !expected->limit.empty())
    draft.evidence.push_back({"limit of the hardware: " + expected->limit, "angio's model"});
  const bool network = facts.nodes > 1;
  draft.words[network ? "network" : "one-node"] = "yes";
  draft.cost = {
      fmt::format("large messages take {:.1f} times as long as they should", share > 0 ? 1 / share : 0),
      "judge-share"};
  draft.rank = std::clamp(1 - share, 0.0, 1.0);
  outcome.fire(std::move(draft));
}

void high_latency(const Case& facts, Outcome& outcome) {
  if (no_curve(facts, outcome)) return;
  const std::vector<const Point*> points = small_sizes(facts);
  std::vector<std::pair<double, const Point*>> late;
  for (const Point* point : points) {
    const auto& expected = point->expectation;
    if (expected && expected->basis != model::ExpectationBasis::kBound && expected->most_us > 0)
      late.emplace_back(point->time_us / expected->most_us, point);
  }
  constexpr std::size_t kLeast = 3;
  if (late.size() < kLeast) {
    outcome.undecided("the latency: fewer than three small sizes with an expectation",
                      "run it from 8 bytes on (-b 8)");
    return;
  }
  const auto middle = late.begin() + static_cast<std::ptrdiff_t>(late.size() / 2);
  std::ranges::nth_element(late, middle);
  const double over = middle->first;
  // A slow wire delays all sizes: then that is the finding.
  if (over <= 1 || is_plateau_low(facts)) return;
  const Point& point = *middle->second;
  const std::vector<const Point*> wide = plateau(facts);
  const bool healthy = !wide.empty() && std::ranges::all_of(wide, [](const Point* one) {
    return verdict_of(*one) == Verdict::kNormal;
  });
  Draft draft;
  draft.title =
      fmt::format("{}: small messages take {:.0f} us, expected {:.0f} us{}", facts.subject, point.time_us,
                  point.expectation->time_us, healthy ? "; large ones are as they should be" : "");
  draft.evidence.push_back(
      {fmt::format("{}: {:.1f} us, expected {:.1f} us, at most {:.1f} us", name_of(point), point.time_us,
                   point.expectation->time_us, point.expectation->most_us),
       point.place});
  draft.rank = std::clamp(1 - 1 / over, 0.0, 1.0) / 2;
  outcome.fire(std::move(draft));
}

void dips(const Case& facts, Outcome& outcome) {
  if (no_curve(facts, outcome)) return;
  const double share = knowledge::threshold("judge.dip-share");
  std::size_t looked = 0;
  for (const bool in_place : {false, true}) {
    std::vector<const Point*> points;
    for (const Point& point : facts.points)
      if (point.in_place == in_place && point.bus.value > 0) points.push_back(&point);
    std::ranges::stable_sort(points, {}, [](const Point* point) { return point->size.value; });
    for (std::size_t i = 1; i + 1 < points.size(); ++i) {
      const Point& before = *points[i - 1];
      const Point& here = *points[i];
      const Point& after = *points[i + 1];
      if (before.size == here.size || here.size == after.size) continue;
      ++looked;
      const double around = std::min(before.bus.value, after.bus.value);
      if (here.bus.value >= share * around || here.time_us <= before.time_us) continue;
      Draft draft;
      draft.title = fmt::format("{}: a dip at {}, {} between {} and {}", facts.subject, in_words(here.size),
                                in_gigabytes(here.bus.value), in_gigabytes(before.bus.value),
                                in_gigabytes(after.bus.value));
      draft.evidence.push_back(seen(here));
      draft.words["size"] = in_words(here.size);
      draft.rank = (1 - here.bus.value / around) / 4;
      outcome.fire(std::move(draft));
      break;  // one a half
    }
  }
  if (looked == 0) outcome.undecided("dips: fewer than three sizes", "run a sweep (-b 8 -e 1G -f 2)");
}

void placement_gap(const Case& facts, Outcome& outcome) {
  if (no_curve(facts, outcome)) return;
  std::map<std::uint64_t, std::pair<const Point*, const Point*>> halves;
  for (const Point* point : plateau(facts)) {
    auto& both = halves[point->size.value];
    (point->in_place ? both.second : both.first) = point;
  }
  const double least = knowledge::threshold("judge.gap-share");
  std::size_t compared = 0;
  std::size_t apart = 0;
  const Point* slow = nullptr;
  const Point* fast = nullptr;
  for (const auto& [size, both] : halves) {
    if (both.first == nullptr || both.second == nullptr) continue;
    ++compared;
    const bool first_slow = both.first->bus < both.second->bus;
    const Point* low = first_slow ? both.first : both.second;
    const Point* high = first_slow ? both.second : both.first;
    if (low->bus / high->bus >= least) continue;
    ++apart;
    slow = low;
    fast = high;
  }
  if (compared == 0) {
    outcome.undecided("out of place against in place: large sizes have one of the two only",
                      "run nccl-tests, which measures both");
    return;
  }
  if (apart * 2 <= compared) return;  // a single size is scatter
  Draft draft;
  draft.title = fmt::format("{}: {} reaches {}, {} {} at {}", facts.subject,
                            slow->in_place ? "in place" : "out of place", in_gigabytes(slow->bus.value),
                            slow->in_place ? "out of place" : "in place", in_gigabytes(fast->bus.value),
                            in_words(slow->size));
  draft.evidence = {seen(*slow), seen(*fast)};
  draft.rank = (1 - slow->bus / fast->bus) / 4;
  outcome.fire(std::move(draft));
}

}  // namespace angio::judge
