#include "views/judge_json.hpp"

#include <algorithm>
#include <utility>

#include "views/findings_json.hpp"
#include "views/metrics_json.hpp"

namespace angio::views {
namespace {

using judge::JudgedRow;
using judge::Judgement;
using judge::Verdict;

const char* word_of(Verdict verdict) {
  return verdict == Verdict::kWrong ? "wrong_data" : judge::name_of(verdict);
}

Json known(double value) {
  return value > 0 ? Json(value) : Json();
}

Json row_json(const JudgedRow& row) {
  Json json = Json::object({{"what", row.what}});
  if (row.question) {
    json.set("collective", model::name_of(row.question->collective));
    json.set("nodes", row.question->nodes);
    json.set("ranks", row.question->ranks);
  }
  if (row.size.value > 0) json.set("bytes", row.size.value);
  if (row.in_place) json.set("in_place", *row.in_place);
  if (row.time_us > 0) json.set("time_us", row.time_us);
  if (row.expected_us > 0) json.set("expected_us", row.expected_us);
  json.set("measured", row.measured);
  json.set("expected", known(row.expected));
  json.set("low", known(row.low));
  json.set("high", known(row.high));
  json.set("unit", row.unit);
  json.set("higher_is_better", row.higher_is_better);
  json.set("share", row.expected > 0 ? Json(row.measured / row.expected) : Json());
  json.set("verdict", word_of(row.verdict));
  json.set("limit", row.limit);
  if (!row.algorithm.empty()) json.set("algorithm", row.algorithm);
  if (!row.why.empty()) json.set("why", row.why);
  return json;
}

Json platform_json(const std::optional<cost::Platform>& platform) {
  if (!platform) return {};
  return Json::object({{"gpu", platform->name},
                       {"gpus_of_node", platform->gpus},
                       {"gpu_link_bytes_per_second", known(platform->link.value)},
                       {"host_link_bytes_per_second", known(platform->host_link.value)},
                       {"nics", platform->nics},
                       {"nic_bits_per_second", known(platform->nic_rate.value)},
                       {"nic_kind", platform->nic_kind},
                       {"nvls", platform->nvls}});
}

Json judgement_json(const Judgement& judgement) {
  Json rows = Json::array();
  for (const JudgedRow& row : judgement.rows)
    rows.push_back(row_json(row));
  Json findings = Json::array();
  for (const model::Finding& finding : judgement.findings)
    findings.push_back(finding_json(finding));
  Json undecided = Json::array();
  for (const model::Undecided& gap : judgement.undecided)
    undecided.push_back(undecided_json(gap));
  return Json::object({{"source", judgement.source},
                       {"input", judgement.input},
                       {"subject", judgement.subject},
                       {"hosts", strings(judgement.hosts)},
                       {"verdict", word_of(judgement.verdict)},
                       {"answer", judgement.answer},
                       {"platform", platform_json(judgement.platform)},
                       {"assumptions", strings(judgement.assumptions)},
                       {"not_read", strings(judgement.refused)},
                       {"rows", std::move(rows)},
                       {"findings", std::move(findings)},
                       {"undecided", std::move(undecided)},
                       {"held", strings(judgement.held)}});
}

// What is worth comparing next time: the largest size of each result.
std::vector<model::Metric> metrics_of(const JudgeReport& report) {
  std::vector<model::Metric> metrics;
  for (const Judgement& judgement : report.judgements) {
    const JudgedRow* best = nullptr;
    for (const JudgedRow& row : judgement.rows)
      if (row.measured > 0 && (best == nullptr || row.size > best->size)) best = &row;
    if (best == nullptr || judgement.verdict == Verdict::kWrong) continue;
    model::Metric metric;
    metric.subject = judgement.subject;
    metric.name = best->what;
    metric.value = best->measured;
    metric.unit = best->unit;
    metric.kind =
        best->higher_is_better ? model::MetricKind::kHigherIsBetter : model::MetricKind::kLowerIsBetter;
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace

Json judge_json(const JudgeReport& report, const std::string& tool, const std::string& captured) {
  Json judgements = Json::array();
  for (const Judgement& judgement : report.judgements)
    judgements.push_back(judgement_json(judgement));
  return Json::object({{"schema", "angio.judge/1"},
                       {"tool", tool},
                       {"captured", captured},
                       {"subject", report.judgements.empty() ? "" : report.judgements.front().subject},
                       {"judgements", std::move(judgements)},
                       {"notes", strings(report.notes)},
                       {"metrics", metrics_json(metrics_of(report))}});
}

}  // namespace angio::views
