#include "views/metrics_json.hpp"

#include <utility>

namespace angio::views {

std::string_view name_of(model::MetricKind kind) {
  switch (kind) {
    case model::MetricKind::kHigherIsBetter:
      return "higher_is_better";
    case model::MetricKind::kLowerIsBetter:
      return "lower_is_better";
    case model::MetricKind::kCounterOfErrors:
      return "counter_of_errors";
    case model::MetricKind::kCounter:
      return "counter";
    case model::MetricKind::kState:
      return "state";
  }
  return "";
}

Json metrics_json(const std::vector<model::Metric>& metrics) {
  Json list = Json::array();
  for (const model::Metric& metric : metrics) {
    Json row = Json::object({{"subject", metric.subject}, {"name", metric.name}});
    if (metric.kind == model::MetricKind::kState) {
      row.set("text", metric.text);
    } else {
      row.set("value", metric.value);
      row.set("unit", metric.unit);
    }
    row.set("kind", std::string(name_of(metric.kind)));
    if (!metric.samples.empty()) {
      Json samples = Json::array();
      for (const double sample : metric.samples)
        samples.push_back(sample);
      row.set("samples", std::move(samples));
    }
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace angio::views
