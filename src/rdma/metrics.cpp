#include "rdma/metrics.hpp"

#include <fmt/format.h>

#include <string>

#include "base/text.hpp"
#include "knowledge/rdma_counters.hpp"
#include "rdma/rates.hpp"

namespace angio::rdma {

using knowledge::RdmaCounterKind;
using model::Metric;
using model::MetricKind;

namespace {

constexpr double kGiga = 1e9;

std::string state_words(const model::RdmaPortRates& port) {
  std::vector<std::string> words;
  const std::string layer = port.link_layer == model::LinkLayer::kEthernet     ? "RoCE"
                            : port.link_layer == model::LinkLayer::kInfiniBand ? "InfiniBand"
                                                                               : "";
  for (const std::string& word : {layer, port.state, port.physical_state})
    if (!word.empty()) words.push_back(word);
  if (port.lanes > 0) words.push_back(fmt::format("{}x", port.lanes));
  if (!port.speed_name.empty()) words.push_back(port.speed_name);
  return join(words, " ");
}

bool is_error(RdmaCounterKind kind) {
  return kind == RdmaCounterKind::kLink || kind == RdmaCounterKind::kElsewhere ||
         kind == RdmaCounterKind::kLoss || kind == RdmaCounterKind::kTimeout ||
         kind == RdmaCounterKind::kReceiver || kind == RdmaCounterKind::kHost ||
         kind == RdmaCounterKind::kConsequence;
}

void add_counters(const model::RdmaPortRates& port, const std::string& subject,
                  std::vector<Metric>& metrics) {
  for (const model::RdmaChange& change : port.changes) {
    const knowledge::RdmaCounterFact* fact = knowledge::find_rdma_counter(change.name);
    // One that could not be read today stands where it stood: to leave it out would say that it is zero.
    const std::optional<std::uint64_t> value = change.after ? change.after : change.before;
    if (fact == nullptr || fact->unit == "percent" || value.value_or(0) == 0) continue;
    const bool error = is_error(fact->kind);
    if (!error && fact->kind != RdmaCounterKind::kCongestion) continue;
    Metric& metric = metrics.emplace_back();
    // All about the port under its one name, which each result has: a counter that is missing was zero.
    metric.subject = subject;
    metric.name = change.interface.empty() || port.interfaces.size() < 2
                      ? change.name
                      : change.interface + " " + change.name;
    metric.value = static_cast<double>(*value);
    metric.unit = fact->unit;
    metric.kind = error ? MetricKind::kCounterOfErrors : MetricKind::kCounter;
  }
}

}  // namespace

std::vector<Metric> metrics_of(const model::RdmaRates& rates, bool with_bandwidth) {
  std::vector<Metric> metrics;
  for (const model::RdmaPortRates& port : rates.ports) {
    const std::string subject = (rates.host.empty() ? "" : rates.host + " ") + label(port);
    if (!port.absent.empty()) {
      if (port.absent == "not there any more")
        metrics.push_back({subject, "state", 0, "not there", "", MetricKind::kState});
      continue;
    }
    metrics.push_back({subject, "state", 0, state_words(port), "", MetricKind::kState});
    if (port.rate)
      metrics.push_back(
          {subject, "data rate", port.rate->value / kGiga, "", "Gb/s", MetricKind::kHigherIsBetter});
    if (with_bandwidth && port.traffic && !port.idle && !port.traffic->at_least) {
      metrics.push_back(
          {subject, "sent", port.traffic->sent.value / kGiga, "", "Gb/s", MetricKind::kHigherIsBetter});
      metrics.push_back({subject, "received", port.traffic->received.value / kGiga, "", "Gb/s",
                         MetricKind::kHigherIsBetter});
    }
    add_counters(port, subject, metrics);
  }
  return metrics;
}

}  // namespace angio::rdma
