#include <algorithm>
#include <cmath>
#include <vector>

#include "history/drift.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::history {
namespace {

using model::Metric;
using model::MetricKind;

const Metric* find_metric(const Record& record, const Metric& wanted) {
  const auto found = std::ranges::find_if(record.metrics, [&](const Metric& metric) {
    return metric.subject == wanted.subject && metric.name == wanted.name;
  });
  return found == record.metrics.end() ? nullptr : &*found;
}

bool can_tell(const Change& change) {
  const bool level =
      change.metric.kind == MetricKind::kHigherIsBetter || change.metric.kind == MetricKind::kLowerIsBetter;
  return level && change.judgement == Judgement::kTooFew;
}

bool is_worse(const Change& change) {
  const bool more = change.repeats->ratio > 1;
  return more == (change.metric.kind == MetricKind::kLowerIsBetter);
}

// Of two sets that do not overlap at all: nothing can be less likely by chance.
double least_chance(std::size_t a, std::size_t b) {
  double orders = 1;
  for (std::size_t at = 1; at <= a; ++at)
    orders *= static_cast<double>(b + at) / static_cast<double>(at);
  return 2 / orders;
}

}  // namespace

void judge_repeats(const Record& earlier, Comparison& comparison) {
  const auto fewest = static_cast<std::size_t>(knowledge::threshold("history.fewest-repeats"));
  std::vector<Change*> tested;
  for (Change& change : comparison.changes) {
    const Metric* before = can_tell(change) ? find_metric(earlier, change.metric) : nullptr;
    if (before == nullptr || before->samples.size() < fewest || change.metric.samples.size() < fewest)
      continue;
    change.repeats = compare_samples(before->samples, change.metric.samples);
    tested.push_back(&change);
  }
  std::ranges::sort(tested, {}, [](const Change* change) { return change->repeats->chance; });
  const double alarm = knowledge::threshold("history.repeats-alarm");
  const double least = knowledge::threshold("history.least-share");
  bool shown = true;  // Holm: the first that is not shown ends it
  for (std::size_t at = 0; at < tested.size(); ++at) {
    Change& change = *tested[at];
    shown = shown && change.repeats->chance <= alarm / static_cast<double>(tested.size() - at);
    const bool matters = std::abs(change.repeats->ratio - 1) > least;
    const Metric* before = find_metric(earlier, change.metric);
    // Too few repeats for so many figures: not shown says nothing then.
    const bool mute = least_chance(before->samples.size(), change.metric.samples.size()) >
                      alarm / static_cast<double>(tested.size());
    if (!shown && mute && matters) {
      change.repeats.reset();
    } else if (!shown || !matters) {
      change.judgement = Judgement::kSame;
    } else {
      change.judgement = is_worse(change) ? Judgement::kWorse : Judgement::kBetter;
    }
  }
  sort_by_urgency(comparison);
}

}  // namespace angio::history
