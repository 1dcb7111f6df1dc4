// How long the tuner plugin looks for the row that decides: its index against a look through all rows, at 10,
// 1,000 and 10,000 rows that all fit the communicator. Sizes are asked in random order, so that neither the
// processor's caches nor its guesses know the answer. The goal: 50 ns at 10,000 rows.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "tuner/choices.hpp"
#include "tuner/table.hpp"

namespace {

using angio::tuner::Choices;
using angio::tuner::Collective;
using angio::tuner::Rule;
using angio::tuner::Table;

enum class Spread { kEven, kLogarithmic };

// Rows side by side from 0 to 16 GiB, as a sweep of sizes leaves them.
std::shared_ptr<const Table> make_table(std::size_t rows, Spread spread) {
  constexpr double kLargest = 17179869184.0;
  Table table;
  std::uint64_t low = 0;
  for (std::size_t i = 1; i <= rows; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(rows);
    const double end =
        spread == Spread::kEven ? kLargest * share : std::pow(kLargest, share) + static_cast<double>(i);
    Rule rule;
    rule.bytes = {low, static_cast<std::uint64_t>(end)};
    low = rule.bytes.high + 1;
    table.rules.push_back(rule);
  }
  return std::make_shared<const Table>(std::move(table));
}

std::vector<std::uint64_t> make_sizes(const Table& table) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> sizes(4096);
  for (std::uint64_t& size : sizes) {
    const auto& bytes = table.rules[random() % table.rules.size()].bytes;
    size = bytes.low + random() % (bytes.high - bytes.low + 1);
  }
  return sizes;
}

const Rule* scan(const Table& table, Collective collective, std::uint64_t bytes) {
  for (const Rule& rule : table.rules)
    if (rule.collective == collective && rule.bytes.has(bytes) && rule.nodes.has(2) && rule.ranks.has(16))
      return &rule;
  return nullptr;
}

void measure_index(benchmark::State& state, Spread spread) {
  const auto table = make_table(static_cast<std::size_t>(state.range(0)), spread);
  const Choices choices(table, 2, 16);
  const std::vector<std::uint64_t> sizes = make_sizes(*table);
  std::size_t next = 0;
  for (auto step : state) {
    benchmark::DoNotOptimize(choices.find(Collective::kAllReduce, sizes[next], 1, false));
    next = (next + 1) % sizes.size();
  }
}

void measure_scan(benchmark::State& state, Spread spread) {
  const auto table = make_table(static_cast<std::size_t>(state.range(0)), spread);
  const std::vector<std::uint64_t> sizes = make_sizes(*table);
  std::size_t next = 0;
  for (auto step : state) {
    benchmark::DoNotOptimize(scan(*table, Collective::kAllReduce, sizes[next]));
    next = (next + 1) % sizes.size();
  }
}

void measure_start(benchmark::State& state) {
  const auto table = make_table(static_cast<std::size_t>(state.range(0)), Spread::kLogarithmic);
  for (auto step : state)
    benchmark::DoNotOptimize(Choices(table, 2, 16).fitting());
}

BENCHMARK_CAPTURE(measure_index, even, Spread::kEven)->Arg(10)->Arg(1000)->Arg(10000);
BENCHMARK_CAPTURE(measure_index, logarithmic, Spread::kLogarithmic)->Arg(10)->Arg(1000)->Arg(10000);
BENCHMARK_CAPTURE(measure_scan, even, Spread::kEven)->Arg(10)->Arg(1000)->Arg(10000);
BENCHMARK_CAPTURE(measure_scan, logarithmic, Spread::kLogarithmic)->Arg(10)->Arg(1000)->Arg(10000);
BENCHMARK(measure_start)->Arg(10000)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
