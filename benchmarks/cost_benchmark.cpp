// How long it takes to say what NCCL's tuner believes: the whole table (five collectives, seven algorithms,
// three protocols) and all sizes at which its choice changes, for 8 GPUs and for 1,024 nodes of 8; with the
// search for rings and trees and without. Goals: 1 ms for 8 GPUs, 100 ms for 1,024 nodes.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "cost/nccl_model.hpp"
#include "model/synthetic.hpp"
#include "nccl/topology_generate.hpp"

namespace {

using namespace angio;

constexpr const char* kVersion = "2.28.9";

// 8 GPUs behind NVSwitch, each with a NIC of 400 Gb/s behind the same PCI switch.
nccl::System make_system(bool between_nodes) {
  const std::string half =
      "numa cores:32 mem:512GiB { 4 switch pcie:5x16 { 1 gpu nvlink:full:18 pcie:5x16; 1 hca ndr pcie:5x16 } "
      "}";
  auto machine = model::topology(half + "; " + half);
  if (machine) {
    if (const auto made = nccl::generate_topology(*machine)) {
      auto system = nccl::make_system(made->root, {kVersion, between_nodes});
      if (system) return std::move(*system);
    }
  } else {
    std::cerr << machine.error().message << "\n";
  }
  std::cerr << "cost_benchmark: no topology\n";
  std::exit(1);
}

cost::NcclJob make_job(const nccl::System& system, const nccl::SearchResult& found, int nodes) {
  auto job = cost::nccl_job(system, found, nodes, {});
  if (!job) {
    std::cerr << job.error().message << "\n";
    std::exit(1);
  }
  return std::move(*job);
}

void believe(const cost::NcclJob& job) {
  const auto table = cost::nccl_table(job);
  benchmark::DoNotOptimize(table);
}

void table_alone(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  const nccl::System system = make_system(nodes > 1);
  const cost::NcclJob job = make_job(system, nccl::search_graphs(system), nodes);
  for (auto _ : state)
    believe(job);
}

void table_and_changes(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  const nccl::System system = make_system(nodes > 1);
  const cost::NcclJob job = make_job(system, nccl::search_graphs(system), nodes);
  for (auto _ : state) {
    const auto table = cost::nccl_table(job);
    for (std::size_t collective = 0; collective < tuner::kCollectives; ++collective)
      benchmark::DoNotOptimize(cost::nccl_spans(*table, static_cast<tuner::Collective>(collective), {8},
                                                {std::uint64_t{1} << 34U}));
  }
}

void search_and_table(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  const nccl::System system = make_system(nodes > 1);
  for (auto _ : state)
    believe(make_job(system, nccl::search_graphs(system), nodes));
}

void system_search_and_table(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  for (auto _ : state) {
    const nccl::System system = make_system(nodes > 1);
    believe(make_job(system, nccl::search_graphs(system), nodes));
  }
}

BENCHMARK(table_alone)->Arg(1)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK(table_and_changes)->Arg(1)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK(search_and_table)->Arg(1)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK(system_search_and_table)->Arg(1)->Arg(1024)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
