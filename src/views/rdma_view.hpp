// What RDMA ports did in an interval: traffic against the data rate, the counters that grew and what they
// mean, findings as the doctor words them, and the steps from a low bandwidth to its cause. JSON: schema
// "angio.rdma/1", with the "metrics" that `angio history` keeps.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "model/metric.hpp"
#include "model/rdma_rates.hpp"
#include "report/document.hpp"
#include "views/doctor_report.hpp"

namespace angio::views {

struct RdmaReport {
  model::RdmaRates rates;
  DoctorReport judged;  // its findings and gaps; one node
  std::vector<model::RdmaPath> paths;
  std::vector<model::Metric> metrics;
  std::string subject;      // what was looked at: the host, or its ports that were named
  std::string captured;     // the moment of the result, RFC 3339 UTC
  std::string command;      // that was watched; empty: none
  std::string end;          // how it ended, in words
  bool may_follow = false;  // steps would be shown for a port that is named
};

report::Document rdma_document(const RdmaReport& report);
Json rdma_json(const RdmaReport& report);

}  // namespace angio::views
