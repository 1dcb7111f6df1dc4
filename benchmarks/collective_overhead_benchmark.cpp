// What `angio bench collective` itself costs each iteration: the loops that time a collective, around a
// transport that does nothing. To be held against the collective of 10 us that is the shortest on GPUs: 1 %
// is 100 ns.
#include <benchmark/benchmark.h>

#include "collective/thread_world.hpp"
#include "collective/transport.hpp"

namespace {

using angio::collective::Call;

constexpr std::uint32_t kIterations = 20;  // as nccl-tests

void batch(benchmark::State& state) {
  const auto transport = angio::collective::make_idle_transport();
  const Call call;
  for (auto _ : state)
    benchmark::DoNotOptimize(transport->time_batch(call, kIterations));
  state.counters["ns an iteration"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kIterations / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(batch);

// Each iteration by itself: two looks at the clock.
void each(benchmark::State& state) {
  const auto transport = angio::collective::make_idle_transport();
  const Call call;
  for (auto _ : state)
    benchmark::DoNotOptimize(transport->time_each(call, kIterations));
  state.counters["ns an iteration"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kIterations / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(each);

}  // namespace

BENCHMARK_MAIN();
