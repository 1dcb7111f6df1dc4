#include "views/bench_memory_metrics.hpp"

#include <fmt/format.h>

#include <string>

namespace angio::views {
namespace {

using model::BenchFigure;
using model::Metric;
using model::MetricKind;

constexpr double kGigabyte = 1e9;

void add(std::vector<Metric>& metrics, const std::string& subject, const char* name,
         const BenchFigure& figure, double unit, const char* unit_name, MetricKind kind) {
  if (!figure.value) return;
  metrics.push_back({subject, name, figure.value->median / unit, "", unit_name, kind});
}

}  // namespace

std::vector<Metric> memory_bench_metrics(const model::MemoryBench& bench) {
  std::vector<Metric> metrics;
  for (const model::MemoryCell& cell : bench.cells) {
    const std::string subject = fmt::format("node {} -> memory {}", cell.cpus.value, cell.memory.value);
    add(metrics, subject, "read", cell.read, kGigabyte, "GB/s", MetricKind::kHigherIsBetter);
    add(metrics, subject, "copy", cell.copy, kGigabyte, "GB/s", MetricKind::kHigherIsBetter);
    add(metrics, subject, "write", cell.write, kGigabyte, "GB/s", MetricKind::kHigherIsBetter);
    add(metrics, subject, "latency", cell.latency, 1, "ns", MetricKind::kLowerIsBetter);
  }
  for (const model::GpuCopyCell& cell : bench.gpu_copies)
    add(metrics,
        fmt::format("GPU {}, node {}, {}", cell.gpu, cell.node.value, cell.pinned ? "pinned" : "pageable"),
        cell.direction == model::CopyDirection::kToGpu ? "to the GPU" : "from the GPU", cell.rate, kGigabyte,
        "GB/s", MetricKind::kHigherIsBetter);
  return metrics;
}

}  // namespace angio::views
