#include "bench/memory_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.hpp"
#include "bench/conditions.hpp"
#include "bench/gpu_copies.hpp"
#include "bench/kernels.hpp"
#include "bench/node_buffer.hpp"
#include "bench/timing.hpp"

namespace angio::bench {
namespace {

using model::BenchFigure;
using model::MemoryBench;
using model::MemoryCell;

constexpr std::uint32_t kLeastRepeats = 3;
constexpr std::uint32_t kLeastRallies = 5;
constexpr double kCacheLineShare = 0.05;
constexpr std::uint64_t kChainSeed = 20240607;
constexpr std::chrono::milliseconds kLook{200};

BenchFigure missing(std::string why) {
  return BenchFigure{{}, std::move(why)};
}

BenchFigure figure(Result<std::vector<double>> samples) {
  return samples ? figure_of(std::move(*samples)) : missing(std::move(samples.error().message));
}

class MemoryRun {
 public:
  MemoryRun(const MemoryPlan& plan, const BenchTools& tools, MemoryBench& bench)
      : plan_(plan), tools_(tools), bench_(bench), kernels_(usable_kernels().front()) {}

  void measure_nodes() {
    for (const model::NumaNode& node : plan_.memory_nodes) {
      if (stopped()) return;
      measure_memory_of(node);
    }
  }

  void measure_cache_lines() {
    const std::vector<std::uint32_t>& cpus = plan_.cache_line_cpus;
    const Duration duration{plan_.seconds * kCacheLineShare, kLeastRallies};
    for (std::size_t first = 0; first < cpus.size(); ++first) {
      for (std::size_t second = first + 1; second < cpus.size(); ++second) {
        if (stopped()) return;
        tools_.progress(fmt::format("cache lines between CPU {} and CPU {}", cpus[first], cpus[second]));
        auto samples = time_cache_line(cpus[first], cpus[second], duration, tools_.interrupts);
        bench_.cache_lines.push_back({cpus[first], cpus[second], figure(std::move(samples))});
      }
    }
  }

 private:
  [[nodiscard]] bool stopped() const { return tools_.interrupts.pending() != 0; }

  void measure_memory_of(const model::NumaNode& node) {
    tools_.progress(fmt::format("memory of node {}: touching it", node.id.value));
    const BufferWish wish{&node, plan_.size, plan_.one_memory, true};
    auto buffer = make_node_buffer(wish, tools_.root, tools_.interrupts);
    if (!buffer) {
      if (stopped()) return;
      for (const CpuSide& side : plan_.cpu_sides)
        bench_.cells.push_back(empty_cell(side, node.id, buffer.error().message));
      return;
    }
    const std::size_t first = bench_.cells.size();
    for (const CpuSide& side : plan_.cpu_sides) {
      if (stopped()) return;
      bench_.cells.push_back(bandwidth_cell(side, node.id, *buffer));
    }
    measure_latencies(node.id, *buffer, first);
  }

  static MemoryCell empty_cell(const CpuSide& side, NumaId memory, const std::string& why) {
    MemoryCell cell;
    cell.cpus = side.node;
    cell.memory = memory;
    cell.threads = static_cast<std::uint32_t>(side.cpus.size());
    cell.read = cell.copy = cell.write = cell.latency = missing(why);
    return cell;
  }

  MemoryCell bandwidth_cell(const CpuSide& side, NumaId memory, const NodeBuffer& buffer) {
    MemoryCell cell = empty_cell(side, memory, "interrupted");
    cell.place = buffer.place();
    cell.read = transfer(Transfer::kRead, "read", cell, side, buffer);
    cell.copy = transfer(Transfer::kCopy, "copy", cell, side, buffer);
    cell.write = kernels_.write != nullptr ? transfer(Transfer::kWrite, "write", cell, side, buffer)
                                           : missing("this CPU has no non-temporal store that is used here");
    return cell;
  }

  BenchFigure transfer(Transfer kind, const char* word, const MemoryCell& cell, const CpuSide& side,
                       const NodeBuffer& buffer) {
    if (stopped()) return missing("interrupted");
    tools_.progress(
        fmt::format("node {} on memory of node {}: {}", cell.cpus.value, cell.memory.value, word));
    return figure(time_transfer(kind, kernels_, buffer.bytes(), side.cpus, {plan_.seconds, kLeastRepeats},
                                tools_.interrupts));
  }

  void measure_latencies(NumaId memory, const NodeBuffer& buffer, std::size_t first_cell) {
    if (stopped()) return;
    tools_.progress(fmt::format("memory of node {}: linking the chain of loads", memory.value));
    const std::span lines(reinterpret_cast<ChainLine*>(buffer.bytes().data()), buffer.bytes().size() / kLine);
    make_chain(lines, kChainSeed);
    for (std::size_t index = 0; index < plan_.cpu_sides.size() && !stopped(); ++index) {
      MemoryCell& cell = bench_.cells[first_cell + index];
      tools_.progress(
          fmt::format("node {} on memory of node {}: latency", cell.cpus.value, cell.memory.value));
      cell.latency = figure(time_chain(lines, plan_.cpu_sides[index].cpus.front(),
                                       {plan_.seconds, kLeastRepeats}, tools_.interrupts));
    }
  }

  const MemoryPlan& plan_;
  const BenchTools& tools_;
  MemoryBench& bench_;
  const Kernels& kernels_;
};

MemoryBench begin(const model::Machine& machine, const MemoryPlan& plan) {
  MemoryBench bench;
  bench.machine = machine.name;
  bench.instructions = usable_kernels().front().name;
  for (const CpuSide& side : plan.cpu_sides)
    bench.cpu_nodes.push_back(side.node);
  for (const model::NumaNode& node : plan.memory_nodes)
    bench.memory_nodes.push_back(node.id);
  bench.left_out = plan.left_out;
  bench.with_cache_lines = plan.cache_line_cpus.size() > 1;
  bench.conditions.virtual_machine = machine.software.virtual_machine.is_known();
  return bench;
}

// What others do while this program sleeps.
void look_around(MemoryBench& bench, const host::Root& root) {
  bench.conditions.load_before = read_load(root);
  const auto before = read_cpu_time(root);
  std::this_thread::sleep_for(kLook);
  const auto after = read_cpu_time(root);
  const auto shares = before && after ? shares_between(*before, *after) : std::nullopt;
  if (shares) bench.conditions.others_percent = shares->busy;
}

}  // namespace

MemoryBench run_memory_bench(const model::Machine& machine, const MemoryPlan& plan, const BenchTools& tools) {
  MemoryBench bench = begin(machine, plan);
  const auto start = std::chrono::steady_clock::now();
  look_around(bench, tools.root);
  const auto before = read_cpu_time(tools.root);
  MemoryRun run(plan, tools, bench);
  run.measure_nodes();
  run.measure_cache_lines();
  measure_gpu_copies(machine, plan, tools, bench);
  const auto after = read_cpu_time(tools.root);
  const auto shares = before && after ? shares_between(*before, *after) : std::nullopt;
  if (shares) bench.conditions.steal_percent = shares->stolen;
  bench.interrupted = tools.interrupts.pending() != 0;
  judge(bench.conditions);
  bench.conditions.doubts.insert(bench.conditions.doubts.end(), plan.doubts.begin(), plan.doubts.end());
  bench.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return bench;
}

}  // namespace angio::bench
