#include "views/mesh_json.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "mesh/messages.hpp"
#include "mesh/result_json.hpp"
#include "views/findings_json.hpp"
#include "views/metrics_json.hpp"

namespace angio::views {
namespace {

using model::MeshMeasure;
using model::MeshResult;
using model::MeshTransport;

template <typename Value>
void set_known(Json& json, const char* key, const std::optional<Value>& value) {
  if (value) json.set(key, *value);
}

const char* level_word(model::MeshLevel level) {
  return level == model::MeshLevel::kBandwidth ? "bw" : level == model::MeshLevel::kLatency ? "lat" : "both";
}

Json plan_json(const model::MeshPlan& plan) {
  Json json = Json::object({{"tcp", plan.tcp},
                            {"rdma", plan.rdma},
                            {"level", level_word(plan.level)},
                            {"seconds", plan.seconds},
                            {"streams", plan.streams},
                            {"tcp_size_bytes", plan.tcp_size.value},
                            {"rdma_size_bytes", plan.rdma_size.value},
                            {"latency_size_bytes", plan.latency_size.value},
                            {"rounds", plan.rounds},
                            {"partners", plan.partners},
                            {"all_nics", plan.all_nics},
                            {"queue_pairs", plan.queue_pairs}});
  set_known(json, "gid_index", plan.gid_index);
  set_known(json, "cuda", plan.cuda);
  return json;
}

Json nics_json(const std::vector<model::MeshNic>& nics) {
  Json list = Json::array();
  for (const model::MeshNic& nic : nics)
    list.push_back(mesh::nic_json(nic));
  return list;
}

Json hosts_json(const MeshResult& result) {
  Json list = Json::array();
  for (const model::MeshHost& host : result.hosts) {
    list.push_back(Json::object({{"name", host.name},
                                 {"host_name", host.host_name},
                                 {"tested", host.tested},
                                 {"trouble", host.trouble},
                                 {"facts", host.facts},
                                 {"tcp", nics_json(host.tcp)},
                                 {"rdma", nics_json(host.rdma)}}));
  }
  return list;
}

std::string nic_name(const MeshResult& result, MeshTransport transport, std::uint32_t host,
                     std::uint32_t nic) {
  const auto& nics = transport == MeshTransport::kTcp ? result.hosts[host].tcp : result.hosts[host].rdma;
  return nic < nics.size() ? nics[nic].name : std::string();
}

Json measure_json(const MeshResult& result, const MeshMeasure& measure) {
  Json json = Json::object({{"transport", name_of(measure.transport)},
                            {"from", result.hosts[measure.from].name},
                            {"from_nic", nic_name(result, measure.transport, measure.from, measure.from_nic)},
                            {"from_rail", measure.from_nic},
                            {"to", result.hosts[measure.to].name},
                            {"to_nic", nic_name(result, measure.transport, measure.to, measure.to_nic)},
                            {"to_rail", measure.to_nic},
                            {"state", name_of(measure.state)},
                            {"round", measure.round}});
  if (!measure.trouble.empty()) json.set("trouble", measure.trouble);
  if (measure.bandwidth) json.set("bits_per_second", measure.bandwidth->value);
  if (measure.message) json.set("message_bytes", measure.message->value);
  set_known(json, "messages_per_second", measure.messages_per_second);
  set_known(json, "latency_us", measure.latency_us);
  set_known(json, "latency_99_us", measure.latency_99_us);
  set_known(json, "from_cpu", measure.from_cpu);
  set_known(json, "to_cpu", measure.to_cpu);
  if (measure.expected) json.set("expected_bits_per_second", measure.expected->value);
  if (!measure.limit.empty()) json.set("limit", measure.limit);
  if (measure.verdict != model::MeshVerdict::kUnknown) json.set("verdict", name_of(measure.verdict));
  set_known(json, "share_of_usual", measure.share);
  return json;
}

Json usual_json(const model::MeshUsual& usual) {
  Json json = Json::object({{"transport", name_of(usual.transport)}, {"measured", usual.measured}});
  set_known(json, "rail", usual.rail);
  if (usual.median.value > 0) {
    json.set("median_bits_per_second", usual.median.value);
    json.set("lowest_bits_per_second", usual.lowest.value);
    json.set("highest_bits_per_second", usual.highest.value);
  }
  set_known(json, "latency_us", usual.latency_us);
  set_known(json, "from_cpu_seconds_per_gb", usual.from_cpu);
  set_known(json, "to_cpu_seconds_per_gb", usual.to_cpu);
  return json;
}

// A host by the middle of what it sends and receives: pairs come and go with the sample.
void add_host_metrics(const MeshResult& result, MeshTransport transport,
                      std::vector<model::Metric>& metrics) {
  std::map<std::uint32_t, std::vector<double>> sent;
  std::map<std::uint32_t, std::vector<double>> received;
  for (const MeshMeasure& measure : result.measures) {
    if (measure.transport != transport || !measure.bandwidth) continue;
    sent[measure.from].push_back(measure.bandwidth->value);
    received[measure.to].push_back(measure.bandwidth->value);
  }
  const std::string name(name_of(transport));
  constexpr double kGigabit = 1e9;
  for (auto* rates : {&sent, &received}) {
    for (auto& [host, values] : *rates) {
      const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
      std::ranges::nth_element(values, middle);
      metrics.push_back({result.hosts[host].name, "median " + name + (rates == &sent ? " sent" : " received"),
                         *middle / kGigabit, "", "Gb/s", model::MetricKind::kHigherIsBetter});
    }
  }
}

}  // namespace

std::vector<model::Metric> mesh_metrics(const MeshResult& result) {
  std::vector<model::Metric> metrics;
  for (const MeshTransport transport : {MeshTransport::kTcp, MeshTransport::kRdma})
    add_host_metrics(result, transport, metrics);
  constexpr double kGigabit = 1e9;
  for (const MeshMeasure& measure : result.measures) {
    const auto end = [&](std::uint32_t host, std::uint32_t nic) {
      const std::string name = nic_name(result, measure.transport, host, nic);
      return result.hosts[host].name + (name.empty() ? "" : " " + name);
    };
    const std::string subject =
        end(measure.from, measure.from_nic) + " -> " + end(measure.to, measure.to_nic);
    const std::string transport(name_of(measure.transport));
    if (measure.bandwidth)
      metrics.push_back({subject, transport + " bandwidth", measure.bandwidth->value / kGigabit, "", "Gb/s",
                         model::MetricKind::kHigherIsBetter});
    // One round trip is of both directions: kept once.
    if (measure.latency_us && measure.from < measure.to)
      metrics.push_back({subject, transport + " latency", *measure.latency_us, "", "us",
                         model::MetricKind::kLowerIsBetter});
  }
  return metrics;
}

Json mesh_json(const MeshResult& result, const model::MeshReport& report) {
  Json json = Json::object({{"schema", mesh::kMeshSchema},
                            {"tool", result.tool},
                            {"captured", result.captured},
                            {"subject", result.name},
                            {"launcher", result.launcher},
                            {"seconds", result.seconds},
                            {"rounds_planned", result.rounds_planned},
                            {"rounds_done", result.rounds_done},
                            {"plan", plan_json(result.plan)},
                            {"hosts", hosts_json(result)}});
  Json usual = Json::array();
  for (const model::MeshUsual& one : report.usual)
    usual.push_back(usual_json(one));
  json.set("usual", std::move(usual));
  Json findings = Json::array();
  for (const model::Finding& finding : report.findings)
    findings.push_back(finding_json(finding));
  json.set("findings", std::move(findings));
  Json undecided = Json::array();
  for (const model::Undecided& gap : report.undecided)
    undecided.push_back(undecided_json(gap));
  json.set("undecided", std::move(undecided));
  json.set("held", strings(report.held));
  json.set("notes", strings(result.notes));
  Json measures = Json::array();
  for (const MeshMeasure& measure : result.measures)
    measures.push_back(measure_json(result, measure));
  json.set("measures", std::move(measures));
  json.set("metrics", metrics_json(mesh_metrics(result)));
  return json;
}

}  // namespace angio::views
