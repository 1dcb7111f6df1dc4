// Copies between host memory and GPUs, and between GPUs of a host: nvbandwidth and angio bench memory.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "judge/case.hpp"

namespace angio::judge {
namespace {

constexpr double kGigabyte = 1e9;

struct Wires {
  BytesPerSecond host, gpus;
  std::string host_limit, gpus_limit;
};

Wires wires_of(const std::optional<cost::Platform>& platform) {
  Wires wires;
  if (!platform) return wires;
  wires.host = platform->host_link;
  wires.host_limit = fmt::format("the link to the CPU, {} a direction", in_gigabytes(wires.host.value));
  using cost::Fabric;
  if (platform->fabric == Fabric::kNvSwitch) {
    wires.gpus = platform->link;
    wires.gpus_limit = fmt::format("NVLink of a GPU, {} a direction", in_gigabytes(wires.gpus.value));
  } else if (platform->fabric == Fabric::kPcie) {
    wires.gpus = platform->host_link;
    wires.gpus_limit = fmt::format("PCIe of a GPU, {} a direction", in_gigabytes(wires.gpus.value));
  }
  return wires;  // of direct links two GPUs have one or more, or none: not known by the name
}

void put_wire(const Wires& wires, Copy& copy) {
  const bool gpus = copy.kind == CopyKind::kGpuToGpu;
  copy.wire = gpus ? wires.gpus : wires.host;
  copy.limit = gpus ? wires.gpus_limit : wires.host_limit;
}

CopyKind kind_of(const model::NvbandwidthTest& test) {
  const std::string_view name = test.name;
  if (contains(name, "bidirectional") || contains(test.description, "<->")) {
    const bool host = name.starts_with("host_to_device") || name.starts_with("device_to_host");
    return host ? CopyKind::kBothWays : CopyKind::kOther;
  }
  if (name.starts_with("host_to_device_memcpy")) return CopyKind::kHostToGpu;
  if (name.starts_with("device_to_host_memcpy")) return CopyKind::kGpuToHost;
  if (name.starts_with("device_to_device_memcpy")) return CopyKind::kGpuToGpu;
  return CopyKind::kOther;  // several GPUs at once, local copies
}

std::string words_of(CopyKind kind, std::size_t row, std::size_t column, const std::string& name) {
  switch (kind) {
    case CopyKind::kHostToGpu:
      return fmt::format("host to GPU {}", column);
    case CopyKind::kGpuToHost:
      return fmt::format("GPU {} to host", column);
    case CopyKind::kBothWays:
      return fmt::format("host and GPU {}, both ways", column);
    case CopyKind::kGpuToGpu:
      return fmt::format("GPU {} and GPU {}", row, column);
    case CopyKind::kOther:
      break;
  }
  return fmt::format("{} {}/{}", name, row, column);
}

void add_matrix(const model::NvbandwidthTest& test, const Wires& wires, Case& facts, Judgement& judgement) {
  const CopyKind kind = kind_of(test);
  for (std::size_t row = 0; row < test.matrix.size(); ++row) {
    for (std::size_t column = 0; column < test.matrix[row].size(); ++column) {
      const auto& value = test.matrix[row][column];
      if (!value || *value <= 0) continue;
      const std::string what = words_of(kind, row, column, test.name);
      if (test.latency) {
        JudgedRow one;
        one.what = what;
        one.measured = *value;
        one.unit = "ns";
        one.higher_is_better = false;
        one.why = "no expectation of a latency";
        judgement.rows.push_back(std::move(one));
        continue;
      }
      Copy copy;
      copy.group = test.name;
      copy.what = what;
      copy.kind = kind;
      copy.gpu = static_cast<std::uint32_t>(column);
      copy.rate = BytesPerSecond{*value * kGigabyte};
      put_wire(wires, copy);
      facts.copies.push_back(std::move(copy));
    }
  }
}

std::vector<std::string> kinds_of(const std::vector<std::string>& names) {
  std::vector<std::string> kinds;
  for (const std::string& name : names)
    if (std::ranges::find(kinds, name) == kinds.end()) kinds.push_back(name);
  return kinds;
}

Setting setting_of_gpus(const std::vector<std::string>& gpus, const Topology& topology) {
  Said said;
  said.ranks = static_cast<std::uint32_t>(gpus.size());
  said.nodes = 1;
  said.devices = kinds_of(gpus);
  return setting_of(said, topology);
}

void add_memory_cell(const model::MemoryCell& cell, Judgement& judgement) {
  const auto add = [&](const char* what, const model::BenchFigure& figure) {
    if (!figure.value) return;
    JudgedRow row;
    row.what =
        fmt::format("{}, CPUs of node {}, memory of node {}", what, cell.cpus.value, cell.memory.value);
    row.measured = figure.value->median / kGigabyte;
    row.unit = "GB/s";
    row.why = "the memory's modules are not known: no expectation";
    judgement.rows.push_back(std::move(row));
  };
  add("read", cell.read);
  add("write", cell.write);
}

}  // namespace

Judgement judge(const model::NvbandwidthRun& run, const Topology& topology) {
  Judgement judgement;
  judgement.input = run.json ? "nvbandwidth JSON" : "nvbandwidth text";
  judgement.source = topology.source;
  Setting setting = setting_of_gpus(run.gpus, topology);
  const Wires wires = wires_of(setting.platform);
  Case facts;
  facts.subject =
      "nvbandwidth" + (run.gpus.empty() ? std::string() : ", " + count_of(run.gpus.size(), "GPU"));
  facts.source = topology.source;
  facts.platform = setting.platform;
  facts.has_tests = true;
  for (const model::NvbandwidthTest& test : run.tests) {
    add_matrix(test, wires, facts, judgement);
    const std::string status = to_lower(test.status);
    if (status == "waived") facts.failed.push_back({test.name, "waived", true});
    if (status == "error" || status == "failed" || !test.error.empty())
      facts.failed.push_back({test.name, test.error.empty() ? test.status : test.error, false});
  }
  if (!run.error.empty()) facts.failed.push_back({"nvbandwidth", run.error, false});
  for (std::uint32_t i = 0; i < std::min(run.waived, 64U); ++i)
    facts.failed.push_back({"a test", "waived", true});
  if (!setting.platform && !setting.missing.empty())
    setting.assumptions.push_back("No verdict: " + setting.missing + ".");
  judgement.assumptions = std::move(setting.assumptions);
  judgement.platform = std::move(setting.platform);
  return conclude(std::move(facts), std::move(judgement));
}

Judgement judge(const model::DcgmMetrics& metrics, const Topology& topology) {
  Judgement judgement;
  judgement.input = "dcgm-exporter";
  judgement.source = topology.source;
  Case facts;
  facts.subject = "PCIe and NVLink rates of DCGM";
  facts.source = topology.source;
  for (const model::DcgmRate& rate : metrics.rates) {
    const Setting setting = setting_of_gpus({rate.gpu_name}, topology);
    const Wires wires = wires_of(setting.platform);
    const bool nvlink = contains(rate.field, "NVLINK");
    Copy copy;
    copy.group = rate.field;
    copy.what = fmt::format("{}, GPU {}", rate.field, rate.gpu);
    copy.rate = rate.rate;
    copy.wire = nvlink ? wires.gpus : wires.host;
    copy.why = "a monitor tells how busy a link is, not what it can";
    copy.limit = nvlink ? wires.gpus_limit : wires.host_limit;
    facts.gauges.push_back({copy.what, rate.type, fmt::format("{}:{}", topology.source, rate.line)});
    facts.copies.push_back(std::move(copy));
  }
  return conclude(std::move(facts), std::move(judgement));
}

Judgement judge(const model::MemoryBench& bench, const Topology& topology) {
  Judgement judgement;
  judgement.input = "angio bench memory";
  judgement.source = topology.source;
  judgement.hosts = {bench.machine};
  std::vector<std::string> names;
  for (const model::BenchGpu& gpu : bench.gpus)
    names.push_back(gpu.name);
  Setting setting = setting_of_gpus(names, topology);
  const Wires wires = wires_of(setting.platform);
  Case facts;
  facts.subject = "memory of " + bench.machine;
  facts.source = topology.source;
  facts.platform = setting.platform;
  for (const model::MemoryCell& cell : bench.cells)
    add_memory_cell(cell, judgement);
  for (const model::GpuCopyCell& cell : bench.gpu_copies) {
    if (!cell.rate.value) continue;
    const bool to_gpu = cell.direction == model::CopyDirection::kToGpu;
    Copy copy;
    copy.group = to_gpu ? "host to GPU" : "GPU to host";
    copy.kind = to_gpu ? CopyKind::kHostToGpu : CopyKind::kGpuToHost;
    copy.gpu = cell.gpu;
    copy.node = cell.node.value;
    copy.pinned = cell.pinned;
    const auto gpu = std::ranges::find(bench.gpus, cell.gpu, &model::BenchGpu::ordinal);
    copy.far = gpu != bench.gpus.end() && gpu->node && *gpu->node != cell.node;
    const char* pages = cell.pinned ? "" : ", pageable";
    copy.what = to_gpu ? fmt::format("node {} to GPU {}{}", cell.node.value, cell.gpu, pages)
                       : fmt::format("GPU {} to node {}{}", cell.gpu, cell.node.value, pages);
    copy.rate = BytesPerSecond{cell.rate.value->median};
    put_wire(wires, copy);
    facts.copies.push_back(std::move(copy));
  }
  judgement.assumptions = std::move(setting.assumptions);
  if (bench.gpus.empty())
    judgement.assumptions = {bench.gpu_note.empty() ? "No GPU was measured." : bench.gpu_note};
  for (const std::string& doubt : bench.conditions.doubts)
    judgement.assumptions.push_back(doubt);
  judgement.platform = std::move(setting.platform);
  return conclude(std::move(facts), std::move(judgement));
}

}  // namespace angio::judge
