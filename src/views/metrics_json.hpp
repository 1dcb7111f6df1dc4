// The "metrics" of a result's JSON, one form for every result: what `angio history` reads.
//   [{"subject": "leaf-3 port 12", "name": "SymbolErrorCounter", "value": 3, "unit": "errors",
//     "kind": "counter_of_errors"}]; a state has "text" instead of "value"; repeats stand in
// "samples".
#pragma once

#include <vector>

#include "base/json.hpp"
#include "model/metric.hpp"

namespace angio::views {

Json metrics_json(const std::vector<model::Metric>& metrics);
std::string_view name_of(model::MetricKind kind);  // "counter_of_errors"

}  // namespace angio::views
