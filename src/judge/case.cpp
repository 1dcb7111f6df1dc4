// The verdict of one figure, and which sizes tell what.
#include "judge/case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::judge {

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNormal:
      return "normal";
    case Verdict::kLow:
      return "low";
    case Verdict::kImpossible:
      return "impossible";
    case Verdict::kWrong:
      return "wrong data";
    case Verdict::kUndecided:
      break;
  }
  return "undecided";
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", share * 100, share < 0.095 ? 1 : 0);
}

std::string in_gigabytes(double bytes_per_second) {
  constexpr double kGigabyte = 1e9;
  const double value = bytes_per_second / kGigabyte;
  return fmt::format("{:.{}f} GB/s", value, value >= 100 ? 0 : value >= 1 ? 1 : 3);
}

std::string name_of(const Point& point) {
  return fmt::format("{} {}, {}", model::name_of(point.collective), in_words(point.size),
                     point.in_place ? "in place" : "out of place");
}

Verdict verdict_of(const Point& point) {
  if (point.wrong.value_or(0) > 0) return Verdict::kWrong;
  if (!point.counts || !point.expectation || point.bus.value <= 0) return Verdict::kUndecided;
  const model::Expectation& expected = *point.expectation;
  // Times of small sizes are rounded and jitter: nothing there is impossible.
  const bool large = static_cast<double>(point.size.value) >= knowledge::threshold("judge.impossible-size");
  if (large && expected.bus_high.value > 0 && point.bus > expected.bus_high) return Verdict::kImpossible;
  if (expected.basis == model::ExpectationBasis::kBound) return Verdict::kUndecided;
  if (expected.bus_low.value > 0 && point.bus < expected.bus_low) return Verdict::kLow;
  return large && point.bus / expected.bus < knowledge::threshold("judge.normal-share") ? Verdict::kUndecided
                                                                                        : Verdict::kNormal;
}

Verdict verdict_of(const Copy& copy) {
  if (copy.wire.value <= 0 || copy.rate.value <= 0) return Verdict::kUndecided;
  const double directions = copy.kind == CopyKind::kBothWays ? 2 : 1;
  const double share = copy.rate / copy.wire;
  if (share > directions * knowledge::threshold("judge.copy-impossible-share")) return Verdict::kImpossible;
  // Pageable memory is copied by the CPU first, both directions at once share what the CPU can do.
  if (!copy.pinned || copy.far || copy.kind == CopyKind::kBothWays || copy.kind == CopyKind::kOther)
    return Verdict::kUndecided;
  return share < knowledge::threshold("judge.copy-low-share") ? Verdict::kLow : Verdict::kNormal;
}

Verdict verdict_of(const Flow& flow) {
  if (!flow.doubt.empty() || flow.payload.value <= 0 || flow.rate.value <= 0) return Verdict::kUndecided;
  const double line = flow.directions * knowledge::threshold("mesh.impossible-share");
  if (flow.line.value > 0 && flow.rate / flow.line > line) return Verdict::kImpossible;
  if (!flow.counts) return Verdict::kUndecided;
  const double share = flow.rate / flow.payload / flow.directions;
  return share < knowledge::threshold("mesh.low-share") ? Verdict::kLow : Verdict::kNormal;
}

std::vector<const Point*> plateau(const Case& facts) {
  std::uint64_t largest = 0;
  for (const Point& point : facts.points)
    largest = std::max(largest, point.size.value);
  const double least = std::max(knowledge::threshold("judge.plateau-size"),
                                static_cast<double>(largest) / knowledge::threshold("judge.plateau-span"));
  std::vector<const Point*> points;
  for (const Point& point : facts.points)
    if (static_cast<double>(point.size.value) >= least && point.bus.value > 0 && point.counts)
      points.push_back(&point);
  return points;
}

std::vector<const Point*> small_sizes(const Case& facts) {
  std::vector<const Point*> points;
  for (const Point& point : facts.points)
    if (static_cast<double>(point.size.value) <= knowledge::threshold("judge.small-size") &&
        point.size.value > 0 && point.time_us > 0 && point.counts)
      points.push_back(&point);
  return points;
}

std::optional<double> middle_share(const std::vector<const Point*>& points) {
  std::vector<double> shares;
  for (const Point* point : points) {
    if (!point->expectation || point->expectation->basis == model::ExpectationBasis::kBound) continue;
    if (point->expectation->bus_low.value > 0 && point->bus.value > 0)
      shares.push_back(point->bus / point->expectation->bus_low);
  }
  if (shares.empty()) return std::nullopt;
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
  std::ranges::nth_element(shares, middle);
  return *middle;
}

bool is_plateau_low(const Case& facts) {
  return middle_share(plateau(facts)).value_or(1) < 1;
}

}  // namespace angio::judge
