#include "views/step_json.hpp"

#include <fmt/format.h>

#include <utility>

#include "views/metrics_json.hpp"
#include "views/step_words.hpp"

namespace angio::views {
namespace {

using model::MetricKind;
using model::StepRun;

template <typename Value>
void set_known(Json& json, const char* key, const std::optional<Value>& value) {
  if (value) json.set(key, *value);
}

Json shape_json(const model::StepShape& shape) {
  Json json = Json::object({{"name", shape.name}, {"parameters", shape.parameters}});
  if (!shape.transformer) {
    json.set("image_pixels", shape.image);
    return json;
  }
  json.set("layers", shape.layers);
  json.set("hidden", shape.hidden);
  json.set("heads", shape.heads);
  json.set("vocabulary", shape.vocabulary);
  json.set("sequence", shape.sequence);
  return json;
}

Json layout_json(const model::StepLayout& layout) {
  return Json::object({{"data", layout.data},
                       {"data_by", layout.sharded ? "fsdp" : "ddp"},
                       {"tensor", layout.tensor},
                       {"pipeline", layout.pipeline},
                       {"expert", layout.expert},
                       {"micro_batches", layout.micro_batches}});
}

Json spread_json(const model::StepSpread& spread) {
  return Json::object({{"steps", spread.count},
                       {"minimum_ms", spread.minimum},
                       {"median_ms", spread.median},
                       {"p95_ms", spread.p95},
                       {"p99_ms", spread.p99},
                       {"maximum_ms", spread.maximum}});
}

Json times_json(const std::vector<model::StepTime>& steps) {
  Json list = Json::array();
  for (const model::StepTime& time : steps) {
    Json row = Json::object({{"communication", time.communication},
                             {"step_ms", time.step},
                             {"input_ms", time.input},
                             {"forward_ms", time.forward},
                             {"backward_ms", time.backward},
                             {"optimizer_ms", time.optimizer}});
    set_known(row, "exposed_ms", time.exposed);
    list.push_back(std::move(row));
  }
  return list;
}

Json rank_json(const model::StepRank& rank, const model::StepSplit& split) {
  Json json = Json::object({{"rank", rank.rank},
                            {"local_rank", rank.local_rank},
                            {"host", rank.host},
                            {"pid", rank.pid},
                            {"device", rank.device},
                            {"step_ms", split.step},
                            {"forward_ms", split.forward},
                            {"backward_ms", split.backward},
                            {"optimizer_ms", split.optimizer},
                            {"input_ms", split.input},
                            {"other_ms", split.other}});
  set_known(json, "exposed_ms", split.exposed);
  set_known(json, "without_communication_ms", split.without);
  set_known(json, "difference_ms", split.difference);
  if (rank.memory) json.set("memory_bytes", rank.memory->value);
  if (rank.sent > 0) json.set("sent_bytes", rank.sent);
  json.set("start_seconds", rank.start_seconds);
  json.set("finished", rank.finished);
  json.set("steps", times_json(rank.steps));
  return json;
}

Json slow_json(const model::StepSlowRank& slow) {
  return Json::object({{"rank", slow.rank},
                       {"by", slow.culprit == model::StepCulprit::kInput ? "input" : "compute"},
                       {"own_ms", slow.own},
                       {"usual_ms", slow.usual},
                       {"steps", slow.steps},
                       {"of_steps", slow.of}});
}

Json scale_json(const StepRun& run) {
  Json list = Json::array();
  for (const model::StepScale& row : run.scale) {
    Json json = Json::object({{"ranks", row.ranks},
                              {"batch", row.batch},
                              {"step_ms", row.step_ms},
                              {"samples_per_second", row.samples_per_second}});
    set_known(json, "exposed_ms", row.exposed_ms);
    list.push_back(std::move(json));
  }
  return list;
}

// Phantom GPUs take no time: nothing to keep.
std::vector<model::Metric> metrics_of(const StepRun& run) {
  std::vector<model::Metric> metrics;
  if (run.phantom || run.step.count == 0) return metrics;
  const std::string subject =
      fmt::format("{} {} {} {}", run.shape.name, step_layout_words(run.layout), run.framework, run.backend);
  const auto add = [&](const char* name, double value, const char* unit, MetricKind kind) {
    metrics.push_back({subject, name, value, "", unit, kind});
  };
  add("step time", run.step.median, "ms", MetricKind::kLowerIsBetter);
  add("throughput", run.samples_per_second, "samples/s", MetricKind::kHigherIsBetter);
  if (run.exposed_ms) add("exposed communication", *run.exposed_ms, "ms", MetricKind::kLowerIsBetter);
  double input = 0;
  for (const model::StepSplit& split : run.splits)
    input = std::max(input, split.input);
  add("longest input wait", input, "ms", MetricKind::kLowerIsBetter);
  return metrics;
}

Json strings_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts)
    list.push_back(text);
  return list;
}

}  // namespace

Json step_json(const StepRun& run) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < run.members.size() && i < run.splits.size(); ++i)
    ranks.push_back(rank_json(run.members[i], run.splits[i]));
  Json buckets = Json::array();
  for (const std::uint64_t bucket : run.buckets)
    buckets.push_back(bucket);
  Json json = Json::object({{"schema", "angio.bench-step/1"},
                            {"captured", run.started},
                            {"subject", run.subject},
                            {"framework", run.framework},
                            {"implementation", run.implementation},
                            {"version", run.version},
                            {"backend", run.backend},
                            {"launcher", run.launcher},
                            {"phantom", run.phantom},
                            {"interrupted", run.interrupted},
                            {"ranks", run.ranks},
                            {"batch", run.batch},
                            {"warm_up", run.warm_up},
                            {"model", shape_json(run.shape)},
                            {"layout", layout_json(run.layout)},
                            {"step", spread_json(run.step)},
                            {"samples_per_second", run.samples_per_second}});
  set_known(json, "exposed_ms", run.exposed_ms);
  set_known(json, "exposed_share", run.exposed_share);
  set_known(json, "without_communication_ms", run.without_ms);
  set_known(json, "difference_ms", run.difference_ms);
  set_known(json, "pipeline_bubble_share", run.bubble_share);
  if (run.slow) json.set("slow_rank", slow_json(*run.slow));
  json.set("buckets_bytes", std::move(buckets));
  json.set("by_rank", std::move(ranks));
  if (!run.scale.empty()) {
    json.set("scaling", run.scaling);
    json.set("scale", scale_json(run));
  }
  json.set("notes", strings_json(run.notes));
  json.set("metrics", metrics_json(metrics_of(run)));
  return json;
}

}  // namespace angio::views
