// Two things run in turns until there are enough pairs, and what the runs prove: by how much one differs from
// the other, or that no difference was shown. Who starts the commands is handed in, so that tests need none.
// Not a tuner: nothing is chosen or changed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "experiment/metric.hpp"
#include "experiment/statistics.hpp"

namespace angio::experiment {

enum class Order { kAbba, kRandom };

struct Arm {
  std::string label;
  std::vector<std::string> command;
};

struct ComparisonWish {
  std::array<Arm, 2> arms;  // A is what there was, B what is tried
  std::uint32_t runs = 10;  // of each, warm-up not counted
  std::uint32_t warm_up = 1;
  Order order = Order::kRandom;
  std::uint64_t seed = 0;  // of kRandom
  double confidence = 0.95;
  double resolve = 0.01;  // a relative difference worth knowing: for the number of runs that would show it
};

struct RunRecord {
  std::uint32_t arm = 0;
  bool warm_up = false;
  double seconds = 0;
  double value = 0;  // of the metric
};

// What one start of a command gave.
struct RunOutcome {
  double seconds = 0;
  int exit_code = 0;
  bool interrupted = false;
  std::string output;
  std::string errors;
};
using Runner = std::function<Result<RunOutcome>(const Arm& arm)>;

struct Verdict {
  bool shown = false;       // the interval does not hold 1
  Interval ratio;           // value of B over value of A
  const char* method = "";  // "signed ranks of paired log ratios", "t interval of paired log ratios"
  std::uint32_t pairs = 0;
  double pair_deviation = 0;                      // of the log ratios
  std::optional<std::uint32_t> pairs_to_resolve;  // runs each that would narrow the interval to ± resolve
};

// A run that did not end well stops the comparison.
struct Failure {
  std::uint32_t arm = 0;
  std::uint32_t run = 0;  // 1, 2, …, over all
  int exit_code = 0;      // 0: it ran, but its value cannot be used
  std::string words;
  std::string last_errors;  // last lines of standard error
};

struct Comparison {
  ComparisonWish wish;
  MetricWish metric;
  std::vector<RunRecord> records;  // in the order they ran
  std::optional<Verdict> verdict;
  std::string no_verdict;  // why there is none
  std::optional<Failure> failure;
  bool interrupted = false;
};

// Which arm runs at each step, warm-up first. A coin for every pair, or A B B A B A A B in turn. Both meet a
// steady drift; only the coin keeps its promise (5 % of false alarms) when the noise of a run hangs together
// with the next one's: fixed turns gave 5.5 to 6.5 % in simulation.
std::vector<std::uint32_t> order_of(const ComparisonWish& wish);

// progress is told before each run: its number and how many there are.
Comparison compare(const ComparisonWish& wish, const Metric& metric, const Runner& run,
                   const std::function<void(std::size_t run, std::size_t runs, const Arm& arm)>& progress);

// Pairs are the k-th values of both. Fails on values that have no ratio (zero, negative).
Result<Verdict> judge(const std::vector<double>& a, const std::vector<double>& b, double confidence,
                      double resolve);

// The values of one arm that count.
std::vector<double> values_of(const Comparison& comparison, std::uint32_t arm);

}  // namespace angio::experiment
