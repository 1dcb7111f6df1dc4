// Figures that cannot be, or say nothing: beyond the hardware, contradicting themselves, averages of a sweep.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "judge/case.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::judge {
namespace {

using diagnose::Draft;
using diagnose::Outcome;

struct Excess {
  double factor = 1;
  std::string words;
};

// What would make the figure possible. The nearest to what is expected wins.
std::string explanation(double measured, double expected, double low, double high, std::uint32_t ranks) {
  std::vector<Excess> causes{
      {8, "as if Gb/s stood for GB/s (a factor of 8)"},
      {2, "as if both directions were added (a factor of 2)"},
      {1000, "as if MB/s stood for GB/s (a factor of 1000)"},
  };
  if (ranks > 1) {
    causes.push_back({static_cast<double>(ranks), fmt::format("as if all {} ranks were added", ranks)});
    const double factor = 2.0 * (ranks - 1) / ranks;
    if (factor > 1.2)
      causes.push_back({factor, fmt::format("as if the factor {:.3f} of busbw were applied twice", factor)});
  }
  const Excess* best = nullptr;
  for (const Excess& cause : causes) {
    const double then = measured / cause.factor;
    if (then < low || then > high) continue;
    if (best == nullptr ||
        std::abs(std::log(then / expected)) < std::abs(std::log(measured / best->factor / expected)))
      best = &cause;
  }
  return best != nullptr ? best->words : "the topology is not what was said, or the formula is another";
}

void impossible_points(const Case& facts, Outcome& outcome) {
  std::vector<const Point*> points;
  for (const Point& point : facts.points)
    if (verdict_of(point) == Verdict::kImpossible) points.push_back(&point);
  if (points.empty()) return;
  const Point& point =
      **std::ranges::max_element(points, {}, [](const Point* one) { return one->size.value; });
  const model::Expectation& expected = *point.expectation;
  Draft draft;
  draft.title =
      fmt::format("{}: {} at {} is beyond the hardware, which gives at most {}", facts.subject,
                  in_gigabytes(point.bus.value), in_words(point.size), in_gigabytes(expected.bus_high.value));
  draft.evidence.push_back(
      {fmt::format("{}: {}, {:.1f} times the {} that are expected", name_of(point),
                   in_gigabytes(point.bus.value), point.bus / expected.bus, in_gigabytes(expected.bus.value)),
       point.place});
  draft.evidence.push_back({explanation(point.bus.value, expected.bus.value, expected.bus_low.value,
                                        expected.bus_high.value, facts.ranks),
                            "arithmetic"});
  draft.rank = 0.9;
  outcome.fire(std::move(draft));
}

void impossible_copies(const Case& facts, Outcome& outcome) {
  for (const Copy& copy : facts.copies) {
    if (verdict_of(copy) != Verdict::kImpossible) continue;
    Draft draft;
    draft.title = fmt::format("{}: {} is beyond {}", copy.what, in_gigabytes(copy.rate.value), copy.limit);
    draft.evidence.push_back(
        {fmt::format("{} of {}", percent(copy.rate / copy.wire), in_gigabytes(copy.wire.value)),
         facts.source});
    const double wire = copy.wire.value;
    draft.evidence.push_back(
        {explanation(copy.rate.value, wire * knowledge::threshold("judge.copy-usual-share"),
                     wire * knowledge::threshold("judge.copy-low-share"), wire, 0),
         "arithmetic"});
    draft.rank = 0.9;
    return outcome.fire(std::move(draft));
  }
}

void impossible_flows(const Case& facts, Outcome& outcome) {
  for (const Flow& flow : facts.flows) {
    if (verdict_of(flow) != Verdict::kImpossible) continue;
    Draft draft;
    draft.title =
        fmt::format("{}: {} is beyond the port's {}", flow.what, in_words(flow.rate), in_words(flow.line));
    draft.evidence.push_back({fmt::format("{} of the line in {}", percent(flow.rate / flow.line),
                                          flow.directions > 1 ? "both directions" : "one direction"),
                              facts.source});
    draft.evidence.push_back(
        {explanation(flow.rate.value, flow.payload.value, flow.payload.value * 0.8, flow.line.value, 0),
         "arithmetic"});
    draft.rank = 0.9;
    return outcome.fire(std::move(draft));
  }
}

bool any_expectation(const Case& facts) {
  return std::ranges::any_of(facts.points,
                             [](const Point& point) { return point.expectation.has_value(); }) ||
         std::ranges::any_of(facts.copies, [](const Copy& copy) { return copy.wire.value > 0; }) ||
         std::ranges::any_of(facts.flows, [](const Flow& flow) { return flow.line.value > 0; });
}

}  // namespace

void impossible_values(const Case& facts, Outcome& outcome) {
  if (facts.points.empty() && facts.copies.empty() && facts.flows.empty()) return outcome.not_applicable();
  if (!any_expectation(facts)) {
    outcome.undecided("whether the figures are possible: the hardware is not known",
                      "name the hardware: --topo SNAP, --gpu NAME, --nodes N, --gpus-per-node N");
    return;
  }
  impossible_points(facts, outcome);
  impossible_copies(facts, outcome);
  impossible_flows(facts, outcome);
}

void contradictions(const Case& facts, Outcome& outcome) {
  Draft draft;
  std::size_t count = 0;
  constexpr std::size_t kShown = 3;
  const auto take = [&](const std::string& what, const std::string& doubt, const std::string& place) {
    if (!doubt.empty() && ++count <= kShown) draft.evidence.push_back({what + ": " + doubt, place});
  };
  for (const Point& point : facts.points)
    take(name_of(point), point.doubt, point.place);
  for (const Flow& flow : facts.flows)
    take(flow.what, flow.doubt, facts.source);
  if (count > 0) {
    draft.title =
        fmt::format("{}: {} contradict{} {}: size, time and bandwidth do not fit", facts.subject,
                    count_of(count, "row"), count == 1 ? "s" : "", count == 1 ? "itself" : "themselves");
    draft.rank = 0.5;
    return outcome.fire(std::move(draft));
  }
  if (facts.points.empty() && facts.flows.empty()) return outcome.not_applicable();
  const bool timed = facts.points.empty() ||
                     std::ranges::any_of(facts.points, [](const Point& point) { return point.time_us > 0; });
  if (!timed)
    outcome.undecided("whether times and bandwidths fit: the result has no times", "keep the whole table");
}

void averages(const Case& facts, Outcome& outcome) {
  if (!facts.average) return outcome.not_applicable();
  const Point* peak = nullptr;
  for (const Point& point : facts.points)
    if (peak == nullptr || point.bus > peak->bus) peak = &point;
  if (peak == nullptr) {
    outcome.undecided(
        fmt::format("what the hardware reaches: only the average {} of a sweep is here, and small sizes "
                    "draw it down as far as the list of sizes wants",
                    in_gigabytes(facts.average->value)),
        "keep the whole table, not its last line");
    return;
  }
  if (peak->bus.value < facts.average->value * knowledge::threshold("judge.average-factor")) return;
  Draft draft;
  draft.title =
      fmt::format("{}: the average {} is no result; {} at {} is", facts.subject,
                  in_gigabytes(facts.average->value), in_gigabytes(peak->bus.value), in_words(peak->size));
  draft.evidence.push_back(
      {fmt::format("Avg bus bandwidth {} is the mean over all sizes, small ones included",
                   in_gigabytes(facts.average->value)),
       facts.average_place});
  draft.evidence.push_back(
      {fmt::format("{}: {}", name_of(*peak), in_gigabytes(peak->bus.value)), peak->place});
  outcome.fire(std::move(draft));
}

}  // namespace angio::judge
