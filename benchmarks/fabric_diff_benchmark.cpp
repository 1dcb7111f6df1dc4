// Two scans of a fat tree against each other, and one judged: 4,096 hosts, 256 leaves of 32 ports, 16 spines,
// 8,192 cables, 16,384 ports with a link, all counters. The goal is 50 ms for the difference of two scans.
#include <benchmark/benchmark.h>

#include "fabric/fabric.hpp"
#include "fabric/test_fabrics.hpp"

namespace {

namespace fabric = angio::fabric;
using angio::model::Fabric;

const fabric::test::TreeShape kLarge = {.leaves = 256, .hosts = 16, .spines = 16, .cables = 1};

// The later scan: counters grown on a port in a hundred, a few cables moved, a leaf gone dark.
Fabric later_scan() {
  fabric::test::Builder build = fabric::test::fat_tree(kLarge);
  build.fabric.captured = "2026-03-01T12:00:00Z";
  std::size_t at = 0;
  for (auto& node : build.fabric.nodes)
    for (auto& port : node.ports)
      if (++at % 100 == 0) port.counters.set(angio::model::FabricCounter::kSymbolErrors, 40);
  for (std::uint32_t leaf = 1; leaf <= 8; ++leaf)
    build.unplug(build.node("leaf-" + std::to_string(leaf)), 17);
  return build.fabric;
}

void compare_two_scans(benchmark::State& state) {
  const Fabric before = fabric::test::fat_tree(kLarge).fabric;
  const Fabric now = later_scan();
  std::size_t changes = 0;
  for (auto _ : state) {
    changes = fabric::compare(before, now).changes.size();
    benchmark::DoNotOptimize(changes);
  }
  state.counters["changes"] = static_cast<double>(changes);
}
BENCHMARK(compare_two_scans)->Unit(benchmark::kMillisecond);

void compare_equal_scans(benchmark::State& state) {
  const Fabric before = fabric::test::fat_tree(kLarge).fabric;
  for (auto _ : state)
    benchmark::DoNotOptimize(fabric::compare(before, before).changes.size());
}
BENCHMARK(compare_equal_scans)->Unit(benchmark::kMillisecond);

void analyse_one_scan(benchmark::State& state) {
  const Fabric scan = fabric::test::fat_tree(kLarge).fabric;
  for (auto _ : state)
    benchmark::DoNotOptimize(fabric::analyse(scan).findings.size());
}
BENCHMARK(analyse_one_scan)->Unit(benchmark::kMillisecond);

// Eight adapters a host on rails: 4,096 adapters, 512 hosts.
void analyse_rails(benchmark::State& state) {
  const Fabric scan =
      fabric::test::rail_tree({.pods = 16, .hosts = 32, .rails = 8, .spines = 16, .cables = 2}).fabric;
  for (auto _ : state)
    benchmark::DoNotOptimize(fabric::analyse(scan).findings.size());
}
BENCHMARK(analyse_rails)->Unit(benchmark::kMillisecond);

// A text without what ports can, with an error on every link: the slow way through every rule.
void analyse_a_bad_text(benchmark::State& state) {
  fabric::test::Builder build = fabric::test::fat_tree(kLarge);
  build.forget_support();
  for (auto& node : build.fabric.nodes)
    for (auto& port : node.ports)
      port.counters.set(angio::model::FabricCounter::kSymbolErrors, 100000);
  for (auto _ : state)
    benchmark::DoNotOptimize(fabric::analyse(build.fabric).findings.size());
}
BENCHMARK(analyse_a_bad_text)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
