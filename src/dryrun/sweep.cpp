// From the runs of a sweep to rows: which choice holds from which size on.
#include <algorithm>
#include <map>

#include "dryrun/compare.hpp"

namespace angio::dryrun {
namespace {

using model::DryRun;
using model::DryRunOperation;
using Key = std::pair<std::string, std::uint64_t>;  // collective, bytes

struct Estimate {
  double value = 0;  // microseconds
  std::size_t run = 0;
};
// The two smallest of each operation: the smallest of the other runs is one of them.
using Estimates = std::map<Key, std::vector<Estimate>>;

Estimates smallest_estimates(const std::vector<DryRun>& runs) {
  Estimates all;
  for (std::size_t run = 0; run < runs.size(); ++run)
    for (const DryRunOperation& operation : runs[run].operations) {
      if (!operation.reached || !operation.estimate_us || *operation.estimate_us <= 0) continue;
      std::vector<Estimate>& two = all[{operation.collective, operation.bytes}];
      if (std::ranges::any_of(two, [&](const Estimate& known) { return known.run == run; })) continue;
      two.push_back({*operation.estimate_us, run});
      std::ranges::stable_sort(two, {}, &Estimate::value);
      if (two.size() > 2) two.pop_back();
    }
  return all;
}

// Smallest estimate of the other runs over this one's; 0: one of them is not known.
double ratio_of(const DryRunOperation& operation, std::size_t run, const Estimates& estimates) {
  if (!operation.reached || !operation.estimate_us || *operation.estimate_us <= 0) return 0;
  const auto two = estimates.find({operation.collective, operation.bytes});
  if (two == estimates.end()) return 0;
  const auto other = std::ranges::find_if(two->second, [&](const Estimate& one) { return one.run != run; });
  return other == two->second.end() ? 0 : other->value / *operation.estimate_us;
}

void extend(SweepRow& row, const DryRunOperation& operation, double ratio) {
  const std::string choice = choice_text(operation);
  if (row.ranges.empty() || row.ranges.back().choice != choice)
    row.ranges.push_back({operation.bytes, operation.bytes, choice, ratio});
  ChoiceRange& range = row.ranges.back();
  range.to = operation.bytes;
  if (ratio > 0) range.best_ratio = range.best_ratio > 0 ? std::min(range.best_ratio, ratio) : ratio;
}

std::vector<SweepRow> rows_of(const DryRun& run, std::size_t index, const Estimates& estimates) {
  std::vector<const DryRunOperation*> sorted;
  std::map<std::string, std::size_t> first;  // collectives in the order of the run
  for (const DryRunOperation& operation : run.operations) {
    first.try_emplace(operation.collective, first.size());
    sorted.push_back(&operation);
  }
  std::ranges::stable_sort(sorted, {}, [&](const DryRunOperation* operation) {
    return std::pair(first.at(operation->collective), operation->bytes);
  });
  std::vector<SweepRow> rows;
  for (const DryRunOperation* operation : sorted) {
    if (rows.empty() || rows.back().collective != operation->collective)
      rows.push_back({run.label, operation->collective, {}});
    extend(rows.back(), *operation, ratio_of(*operation, index, estimates));
  }
  return rows;
}

}  // namespace

std::vector<SweepRow> sweep_rows(const std::vector<DryRun>& runs) {
  const Estimates estimates = smallest_estimates(runs);
  std::vector<SweepRow> rows;
  for (std::size_t run = 0; run < runs.size(); ++run)
    std::ranges::move(rows_of(runs[run], run, estimates), std::back_inserter(rows));
  return rows;
}

}  // namespace angio::dryrun
