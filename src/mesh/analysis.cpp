#include "mesh/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "mesh/expectation.hpp"
#include "mesh/polish.hpp"
#include "mesh/rules.hpp"

namespace angio::mesh {
namespace {

using model::MeshMeasure;
using model::MeshReport;
using model::MeshResult;
using model::MeshTransport;

double rate_of(const MeshMeasure& measure) {
  return measure.bandwidth->value;
}

model::MeshUsual usual_of(const MeshResult& result, MeshTransport transport,
                          std::optional<std::uint32_t> rail) {
  model::MeshUsual usual;
  usual.transport = transport;
  usual.rail = rail;
  std::vector<double> rates;
  std::vector<double> latencies;
  std::vector<double> from_cpu;
  std::vector<double> to_cpu;
  constexpr double kGigabyte = 8e9;  // bits
  for (const MeshMeasure& measure : result.measures) {
    if (measure.transport != transport || (rail && (measure.from_nic != *rail || measure.to_nic != *rail)))
      continue;
    if (measure.latency_us) latencies.push_back(*measure.latency_us);
    if (!measure.bandwidth || measure.bandwidth->value <= 0) continue;
    rates.push_back(rate_of(measure));
    const double gigabytes = rate_of(measure) / kGigabyte;
    if (measure.from_cpu) from_cpu.push_back(*measure.from_cpu / gigabytes);
    if (measure.to_cpu) to_cpu.push_back(*measure.to_cpu / gigabytes);
  }
  usual.measured = static_cast<std::uint32_t>(std::max(rates.size(), latencies.size()));
  if (!rates.empty()) {
    const auto [low, high] = std::ranges::minmax(rates);
    usual.lowest = BitsPerSecond{low};
    usual.highest = BitsPerSecond{high};
    usual.median = BitsPerSecond{median_of(std::move(rates))};
  }
  if (!latencies.empty()) usual.latency_us = median_of(std::move(latencies));
  if (!from_cpu.empty()) usual.from_cpu = median_of(std::move(from_cpu));
  if (!to_cpu.empty()) usual.to_cpu = median_of(std::move(to_cpu));
  return usual;
}

void add_usual(const MeshResult& result, MeshReport& report) {
  for (const MeshTransport transport : {MeshTransport::kTcp, MeshTransport::kRdma}) {
    std::set<std::uint32_t> rails;
    for (const MeshMeasure& measure : result.measures) {
      if (measure.transport == transport) rails.insert(measure.from_nic);
    }
    if (rails.empty()) continue;
    report.usual.push_back(usual_of(result, transport, {}));
    constexpr std::size_t kMostRails = 64;
    if (rails.size() < 2 || rails.size() > kMostRails || result.plan.all_nics) continue;
    for (const std::uint32_t rail : rails)
      report.usual.push_back(usual_of(result, transport, rail));
  }
}

void rank(std::vector<model::Finding>& findings) {
  std::ranges::stable_sort(findings, [](const model::Finding& a, const model::Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.rank > b.rank;
  });
}

}  // namespace

MeshReport analyse(MeshResult& result) {
  MeshReport report;
  judge_measures(result);
  add_usual(result, report);
  MeshCase facts{result, report, {}};
  for (const MeshTransport transport : {MeshTransport::kTcp, MeshTransport::kRdma}) {
    const bool has = std::ranges::any_of(result.measures, [&](const MeshMeasure& measure) {
      return measure.transport == transport && measure.state != model::MeshState::kMissing;
    });
    if (!has) continue;
    facts.suspects.push_back(
        {transport, find_suspects(result, transport, false), find_suspects(result, transport, true)});
  }
  for (const Rule& rule : mesh_rules()) {
    diagnose::Outcome outcome;
    rule.check(facts, outcome);
    const knowledge::RuleText* text = knowledge::find_rule(rule.id);
    if (text == nullptr || !outcome.applicable) continue;
    for (const diagnose::Draft& draft : outcome.drafts)
      report.findings.push_back(diagnose::make_finding(*text, result.name, draft));
    for (const diagnose::Outcome::Gap& gap : outcome.gaps)
      report.undecided.push_back({rule.id, result.name, gap.missing, gap.collect});
    if (outcome.drafts.empty() && outcome.gaps.empty()) report.held.emplace_back(rule.id);
  }
  rank(report.findings);
  return report;
}

}  // namespace angio::mesh
