#include <utility>

#include "knowledge/rdma_counters.hpp"
#include "views/findings_json.hpp"
#include "views/metrics_json.hpp"
#include "views/rdma_view.hpp"
#include "views/rdma_words.hpp"

namespace angio::views {

namespace {

Json optional_text(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json change_json(const model::RdmaPortRates& port, const model::RdmaChange& change) {
  const knowledge::RdmaCounterFact* fact = knowledge::find_rdma_counter(change.name);
  Json json = Json::object({{"name", change.name}, {"place", place_name(change.place)}});
  if (!change.interface.empty()) json.set("interface", change.interface);
  json.set("before", change.before ? Json(*change.before) : Json());
  json.set("after", change.after ? Json(*change.after) : Json());
  json.set("growth", change.growth);
  const bool gauge = fact != nullptr && fact->unit == "percent";
  if (port.seconds && !gauge) json.set("per_second", static_cast<double>(change.growth) / *port.seconds);
  json.set("change", change_name(change.kind));
  if (!change.why.empty()) json.set("why", change.why);
  if (fact != nullptr) {
    json.set("unit", fact->unit);
    json.set("meaning", knowledge::meaning_of_rdma_counter(change.name));
  }
  return json;
}

Json traffic_json(const model::RdmaPortRates& port) {
  if (!port.traffic) return {};
  const model::RdmaTraffic& traffic = *port.traffic;
  Json json = Json::object({{"sent_bits_per_second", traffic.sent.value},
                            {"received_bits_per_second", traffic.received.value},
                            {"of", traffic.of_interface ? "interface" : "port"},
                            {"at_least", traffic.at_least}});
  if (!traffic.of_interface) {
    json.set("peak_sent_bits_per_second", traffic.peak_sent.value);
    json.set("peak_received_bits_per_second", traffic.peak_received.value);
  }
  if (traffic.packets_known) {
    json.set("packets_sent", traffic.packets_sent);
    json.set("packets_received", traffic.packets_received);
  }
  return json;
}

Json port_json(const model::RdmaPortRates& port) {
  Json json = Json::object({{"device", port.device},
                            {"port", port.port},
                            {"kind", layer_name(port)},
                            {"state", optional_text(port.state)},
                            {"physical_state", optional_text(port.physical_state)},
                            {"states_seen", strings(port.states)},
                            {"node_guid", optional_text(port.node_guid)},
                            {"interfaces", strings(port.interfaces)}});
  if (!port.was.empty()) json.set("earlier_name", port.was);
  if (!port.absent.empty()) json.set("absent", port.absent);
  json.set("data_rate_bits_per_second", port.rate ? Json(port.rate->value) : Json());
  json.set("lanes", port.lanes);
  json.set("speed", optional_text(port.speed_name));
  json.set("seconds", port.seconds ? Json(*port.seconds) : Json());
  json.set("clock", port.clock);
  json.set("idle", port.idle);
  json.set("traffic", traffic_json(port));
  Json counters = Json::array();
  for (const model::RdmaChange& change : port.changes)
    counters.push_back(change_json(port, change));
  json.set("counters", std::move(counters));
  return json;
}

Json path_json(const model::RdmaPath& path) {
  Json steps = Json::array();
  for (const model::RdmaStep& step : path.steps)
    steps.push_back(Json::object({{"topic", step.topic},
                                  {"verdict", verdict_name(step.verdict)},
                                  {"seen", strings(step.seen)},
                                  {"look", strings(step.next)}}));
  return Json::object({{"port", path.port}, {"steps", std::move(steps)}});
}

}  // namespace

Json rdma_json(const RdmaReport& report) {
  const model::RdmaRates& rates = report.rates;
  Json ports = Json::array();
  for (const model::RdmaPortRates& port : rates.ports)
    ports.push_back(port_json(port));
  Json paths = Json::array();
  for (const model::RdmaPath& path : report.paths)
    paths.push_back(path_json(path));
  Json json = Json::object({{"schema", "angio.rdma/1"},
                            {"captured", optional_text(report.captured)},
                            {"subject", report.subject.empty() ? std::string("this host") : report.subject},
                            {"from", optional_text(rates.from)},
                            {"to", optional_text(rates.to)},
                            {"readings", rates.readings},
                            {"files_a_reading", rates.files}});
  if (!report.command.empty()) {
    json.set("command", report.command);
    json.set("command_end", report.end);
  }
  if (!rates.problem.empty()) json.set("problem", rates.problem);
  json.set("ports", std::move(ports));
  json.set("remarks", strings(rates.remarks));
  json.set("judged", findings_json(report.judged));
  json.set("paths", std::move(paths));
  json.set("metrics", metrics_json(report.metrics));
  return json;
}

}  // namespace angio::views
