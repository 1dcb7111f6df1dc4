#include "views/collective_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collective/run_json.hpp"
#include "collective/wish.hpp"
#include "views/collective_tables.hpp"
#include "views/metrics_json.hpp"

namespace angio::views {
namespace {

using model::CollectiveRow;
using model::CollectiveRun;
using model::Metric;
using model::MetricKind;

constexpr double kGigabyte = 1e9;

std::string subject_of(const CollectiveRun& run) {
  const std::string host = run.members.empty() ? "unknown" : run.members.front().host;
  return fmt::format("{}, {} ranks on {} from {}", run.backend, run.ranks,
                     run.nodes == 1 ? "1 node" : fmt::format("{} nodes", run.nodes), host);
}

// The largest size of each collective, its latency at the smallest, and the start.
std::vector<Metric> metrics_of(const CollectiveRun& run) {
  std::vector<Metric> metrics;
  for (const model::NcclCollective collective : collectives_of(run)) {
    const CollectiveRow* largest = nullptr;
    const CollectiveRow* smallest = nullptr;
    for (const CollectiveRow& row : run.rows) {
      if (row.collective != collective) continue;
      if (largest == nullptr || row.size > largest->size) largest = &row;
      if (smallest == nullptr || row.size < smallest->size) smallest = &row;
    }
    if (largest == nullptr) continue;
    const std::string name = model::name_of(collective);
    metrics.push_back({subject_of(run), fmt::format("{} {} B busbw", name, largest->size.value),
                       largest->bus.value / kGigabyte, "", "GB/s", MetricKind::kHigherIsBetter});
    if (smallest != largest)
      metrics.push_back({subject_of(run), fmt::format("{} {} B time", name, smallest->size.value),
                         smallest->time_us, "", "us", MetricKind::kLowerIsBetter});
  }
  metrics.push_back({subject_of(run), "start until the first collective ended",
                     run.launch_seconds + run.init_seconds + run.first_seconds, "", "s",
                     MetricKind::kLowerIsBetter});
  return metrics;
}

Json run_json(const CollectiveRun& run) {
  Json json = collective::to_json(run);
  json.set("captured", run.started);
  json.set("subject", subject_of(run));
  // Times of GPUs that are not there are nothing to compare with.
  json.set("metrics", run.phantom ? Json::array() : metrics_json(metrics_of(run)));
  return json;
}

// ------------------------------------------------------------------ nccl-tests

Json word(bool value) {
  return value ? "true" : "false";
}

Json devices_json(const CollectiveRun& run) {
  Json list = Json::array();
  for (const model::CollectiveRank& rank : run.members) {
    list.push_back(Json::object({{"rank", rank.rank},
                                 {"group", 0},
                                 {"pid", rank.pid},
                                 {"hostname", rank.host},
                                 {"device", rank.local_rank},
                                 {"device_hex", rank.address},
                                 {"device_info", rank.device.empty() ? "host memory" : rank.device}}));
  }
  return list;
}

Json half_json(const CollectiveRow* row) {
  if (row == nullptr) return {};
  return Json::object({{"time", row->time_us},
                       {"alg_bw", row->algorithm.value / kGigabyte},
                       {"bus_bw", row->bus.value / kGigabyte},
                       {"nwrong", row->wrong ? Json(std::to_string(*row->wrong)) : Json("N/A")}});
}

Json per_iteration_json(const CollectiveRow* row) {
  if (row == nullptr || row->maximum_us <= 0) return {};
  return Json::object({{"min_us", row->minimum_us},
                       {"max_us", row->maximum_us},
                       {"p50_us", row->median_us},
                       {"p95_us", row->p95_us},
                       {"p99_us", row->p99_us}});
}

Json results_json(const CollectiveRun& run) {
  std::map<std::uint64_t, std::pair<const CollectiveRow*, const CollectiveRow*>> sizes;
  for (const CollectiveRow& row : run.rows)
    (row.in_place ? sizes[row.size.value].second : sizes[row.size.value].first) = &row;
  Json list = Json::array();
  for (const auto& [size, halves] : sizes) {
    const CollectiveRow& row = halves.first != nullptr ? *halves.first : *halves.second;
    Json json = Json::object({{"size", size},
                              {"count", row.count},
                              {"type", row.type},
                              {"redop", row.reduction.empty() ? "none" : row.reduction},
                              {"root", row.root ? std::to_string(*row.root) : "-1"},
                              {"out_of_place", half_json(halves.first)},
                              {"in_place", half_json(halves.second)}});
    if (row.maximum_us > 0) {
      json.set("out_of_place_per_iter", per_iteration_json(halves.first));
      json.set("in_place_per_iter", per_iteration_json(halves.second));
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json configuration_json(const CollectiveRun& run) {
  const auto by_size = [](const CollectiveRow& a, const CollectiveRow& b) { return a.size < b.size; };
  const auto [least, most] = std::ranges::minmax_element(run.rows, by_size);
  const bool checked =
      std::ranges::any_of(run.rows, [](const CollectiveRow& row) { return row.wrong.has_value(); });
  return Json::object({{"nthreads", 1},
                       {"ngpus", 1},
                       {"minimum_bytes", least->size.value},
                       {"maximum_bytes", most->size.value},
                       {"warmup_iters", run.rows.front().warm_up},
                       {"iterations", run.rows.front().iterations},
                       {"aggregated_iterations", 1},
                       {"validation", checked ? 1 : 0},
                       {"graph", 0},
                       {"blocking_collectives", word(false)},
                       {"parallel_init", word(false)},
                       {"devices", devices_json(run)}});
}

// As nccl-tests has it: over all rows, of all sizes. Nothing to judge by.
double average_bus(const CollectiveRun& run) {
  double sum = 0;
  for (const CollectiveRow& row : run.rows)
    sum += row.bus.value / kGigabyte;
  return run.rows.empty() ? 0 : sum / static_cast<double>(run.rows.size());
}

}  // namespace

Json collective_json(const CollectiveReport& report) {
  if (report.runs.size() == 1) return run_json(report.runs.front());
  Json runs = Json::array();
  for (const CollectiveRun& run : report.runs)
    runs.push_back(run_json(run));
  return Json::object({{"schema", "angio.bench-collective-compare/1"}, {"runs", std::move(runs)}});
}

Result<Json> collective_nccl_tests_json(const CollectiveReport& report) {
  if (report.runs.size() != 1 || collectives_of(report.runs.front()).size() != 1) {
    return fail(ErrorCode::kInvalidInput, "a file of nccl-tests holds one collective of one library",
                "--ops with one collective and no --compare, or --format json");
  }
  const CollectiveRun& run = report.runs.front();
  std::uint64_t wrong = 0;
  for (const CollectiveRow& row : run.rows)
    wrong += row.wrong.value_or(0);
  const std::string program = std::string(collective::word_of(run.rows.front().collective)) + "_perf";
  return Json::object(
      {{"version", 1},
       {"start_time", run.started},
       {"args", Json::array({Json(program)})},
       {"nccl_version", run.version},
       {"config", configuration_json(run)},
       {"results", results_json(run)},
       {"out_of_bounds", Json::object({{"count", wrong}, {"okay", word(wrong == 0)}})},
       {"average_bus_bandwidth", Json::object({{"bandwidth", average_bus(run)}, {"okay", word(true)}})},
       {"errors", Json::array()},
       {"generated_by", "angio bench collective, not nccl-tests"}});
}

}  // namespace angio::views
