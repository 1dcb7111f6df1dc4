#include "step/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "step/groups.hpp"
#include "step/pipeline.hpp"

namespace angio::step {
namespace {

using model::StepRank;
using model::StepRun;
using model::StepSplit;
using model::StepTime;

constexpr double kLuck = 0.01;        // a rank is called slow when luck explains it less often than this
constexpr double kWorthAWord = 0.05;  // and it costs that much of the step

double median(std::vector<double> values) {
  return spread_of(std::move(values)).median;
}

std::vector<StepTime> steps_of(const StepRank& rank, bool communication) {
  std::vector<StepTime> steps;
  for (const StepTime& time : rank.steps) {
    if (time.communication == communication) steps.push_back(time);
  }
  return steps;
}

double median_of(std::span<const StepTime> steps, double StepTime::* part) {
  std::vector<double> values;
  for (const StepTime& time : steps)
    values.push_back(time.*part);
  return median(std::move(values));
}

double other_of(const StepTime& time) {
  const double known = time.input + time.forward + time.backward + time.optimizer + time.exposed.value_or(0);
  return std::max(0.0, time.step - known);
}

StepSplit split_of(const StepRank& rank) {
  const std::vector<StepTime> steps = steps_of(rank, true);
  const std::vector<StepTime> without = steps_of(rank, false);
  StepSplit split;
  split.rank = rank.rank;
  if (steps.empty()) return split;
  split.step = median_of(steps, &StepTime::step);
  split.input = median_of(steps, &StepTime::input);
  split.forward = median_of(steps, &StepTime::forward);
  split.backward = median_of(steps, &StepTime::backward);
  split.optimizer = median_of(steps, &StepTime::optimizer);
  std::vector<double> others;
  std::vector<double> exposed;
  for (const StepTime& time : steps) {
    others.push_back(other_of(time));
    if (time.exposed) exposed.push_back(*time.exposed);
  }
  split.other = median(std::move(others));
  if (exposed.size() == steps.size()) split.exposed = median(std::move(exposed));
  if (without.empty()) return split;
  split.without = median_of(without, &StepTime::step);
  split.difference = split.step - *split.without;
  return split;
}

// By rank, of the steps that all have.
using Table = std::vector<std::vector<StepTime>>;

Table table_of(const StepRun& run, bool communication) {
  Table table;
  std::size_t common = run.members.empty() ? 0 : SIZE_MAX;
  for (const StepRank& rank : run.members) {
    table.push_back(steps_of(rank, communication));
    common = std::min(common, table.back().size());
  }
  for (auto& steps : table)
    steps.resize(common);
  return table;
}

std::vector<double> slowest_of(const Table& table) {
  std::vector<double> slowest(table.empty() ? 0 : table.front().size(), 0);
  for (const auto& steps : table) {
    for (std::size_t i = 0; i < steps.size(); ++i)
      slowest[i] = std::max(slowest[i], steps[i].step);
  }
  return slowest;
}

void set_exposed(const Table& table, StepRun& run) {
  std::vector<double> means;
  for (std::size_t i = 0; !table.empty() && i < table.front().size(); ++i) {
    double sum = 0;
    for (const auto& steps : table) {
      if (!steps[i].exposed) return;
      sum += *steps[i].exposed;
    }
    means.push_back(sum / static_cast<double>(table.size()));
  }
  if (means.empty()) return;
  run.exposed_ms = median(std::move(means));
  if (run.step.median > 0) run.exposed_share = *run.exposed_ms / run.step.median;
}

// ------------------------------------------------------------------ the rank that is waited for

// Ranks with the same work: those of one stage.
std::vector<std::size_t> peers_of(const StepRun& run, std::size_t rank) {
  const std::uint32_t stage = place_of(run.layout, run.members[rank].rank).pipeline;
  std::vector<std::size_t> peers;
  for (std::size_t i = 0; i < run.members.size(); ++i) {
    if (i != rank && place_of(run.layout, run.members[i].rank).pipeline == stage) peers.push_back(i);
  }
  return peers;
}

double median_over(std::span<const std::size_t> ranks, const auto& value) {
  std::vector<double> values;
  for (const std::size_t rank : ranks)
    values.push_back(value(rank));
  return median(std::move(values));
}

// In how many steps each rank was busy longest, over the median of its peers.
std::vector<std::uint32_t> times_longest(const StepRun& run, const Table& table) {
  std::vector<std::uint32_t> counts(table.size(), 0);
  std::vector<std::vector<std::size_t>> peers;
  for (std::size_t i = 0; i < table.size(); ++i)
    peers.push_back(peers_of(run, i));
  for (std::size_t step = 0; step < table.front().size(); ++step) {
    const auto busy = [&](std::size_t rank) { return table[rank][step].step - *table[rank][step].exposed; };
    std::size_t longest = 0;
    double most = -1;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const double more = peers[i].empty() ? 0 : busy(i) - median_over(peers[i], busy);
      if (more > most) {
        most = more;
        longest = i;
      }
    }
    ++counts[longest];
  }
  return counts;
}

void find_slow_rank(const Table& table, StepRun& run) {
  if (!run.exposed_ms || table.size() < 2) return;
  const auto steps = static_cast<std::uint32_t>(table.front().size());
  const auto counts = times_longest(run, table);
  const auto longest = static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin());
  const auto peers = peers_of(run, longest);
  if (peers.empty() || luck_of(static_cast<std::uint32_t>(table.size()), counts[longest], steps) > kLuck)
    return;
  const StepSplit& own = run.splits[longest];
  const auto exposed = [&run](std::size_t rank) { return *run.splits[rank].exposed; };
  // A rank that waits as the others do is not what they wait for.
  if (*own.exposed > median_over(peers, exposed)) return;
  const double compute = median_over(
      peers, [&run](std::size_t rank) { return run.splits[rank].compute() + run.splits[rank].other; });
  const double input = median_over(peers, [&run](std::size_t rank) { return run.splits[rank].input; });
  const double more_compute = own.compute() + own.other - compute;
  const double more_input = own.input - input;
  if (std::max(more_compute, more_input) < kWorthAWord * run.step.median) return;
  model::StepSlowRank slow;
  slow.rank = own.rank;
  slow.culprit = more_input > more_compute ? model::StepCulprit::kInput : model::StepCulprit::kCompute;
  slow.own = slow.culprit == model::StepCulprit::kInput ? own.input : own.compute() + own.other;
  slow.usual = slow.culprit == model::StepCulprit::kInput ? input : compute;
  slow.steps = counts[longest];
  slow.of = steps;
  run.slow = slow;
}

}  // namespace

// Quantiles by the nearest rank: each is a value that was measured; the median of two is their mean.
model::StepSpread spread_of(std::vector<double> values) {
  model::StepSpread spread;
  if (values.empty()) return spread;
  std::ranges::sort(values);
  const auto count = values.size();
  const auto at = [&](double share) {
    const double place = std::ceil(share * static_cast<double>(count));
    return values[std::min(count - 1, static_cast<std::size_t>(std::max(1.0, place)) - 1)];
  };
  spread.count = static_cast<std::uint32_t>(count);
  spread.minimum = values.front();
  spread.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
  spread.p95 = at(0.95);
  spread.p99 = at(0.99);
  spread.maximum = values.back();
  return spread;
}

double luck_of(std::uint32_t ranks, std::uint32_t steps, std::uint32_t of) {
  const double p = 1.0 / ranks;
  double sum = 0;
  for (std::uint32_t k = steps; k <= of; ++k) {
    const double ways = std::lgamma(of + 1.0) - std::lgamma(k + 1.0) - std::lgamma(of - k + 1.0);
    sum += std::exp(ways + k * std::log(p) + (of - k) * std::log1p(-p));
  }
  return std::min(1.0, sum * ranks);  // whichever rank it is
}

void take_logs(std::span<const RankLog> logs, StepRun& run) {
  std::set<std::string> told(run.notes.begin(), run.notes.end());
  for (const RankLog& log : logs) {
    if (log.ranks != run.ranks || log.rank.rank >= run.ranks) continue;
    run.members.push_back(log.rank);
    run.phantom = run.phantom || log.phantom;
    for (const std::string& note : log.notes) {
      if (told.insert(note).second) run.notes.push_back(note);
    }
  }
  std::ranges::stable_sort(run.members, {}, &StepRank::rank);
  const auto same = std::ranges::unique(run.members, {}, &StepRank::rank);
  run.members.erase(same.begin(), same.end());
  for (const RankLog& log : logs) {
    if (run.members.empty() || log.rank.rank != run.members.front().rank) continue;
    run.framework = log.framework;
    run.implementation = log.implementation;
    run.version = log.version;
    run.backend = log.backend;
    run.buckets = log.buckets;
  }
}

void summarise(StepRun& run) {
  run.splits.clear();
  for (const StepRank& rank : run.members)
    run.splits.push_back(split_of(rank));
  const Table table = table_of(run, true);
  run.step = spread_of(slowest_of(table));
  if (run.step.median > 0)
    run.samples_per_second = std::uint64_t{run.batch} * run.layout.data * 1e3 / run.step.median;
  set_exposed(table, run);
  if (const auto without = slowest_of(table_of(run, false)); !without.empty()) {
    run.without_ms = median(without);
    run.difference_ms = run.step.median - *run.without_ms;
  }
  if (run.layout.pipeline > 1) run.bubble_share = bubble_share(run.layout.pipeline, run.layout.micro_batches);
  if (run.step.count > 0) find_slow_rank(table, run);
}

std::string first_failure(std::span<const RankLog> logs) {
  const RankLog* first = nullptr;
  for (const RankLog& log : logs) {
    if (log.failure.empty()) continue;
    if (first == nullptr || log.failed_at < first->failed_at) first = &log;
  }
  return first == nullptr ? "" : fmt::format("rank {}: {}", first->rank.rank, first->failure);
}

}  // namespace angio::step
