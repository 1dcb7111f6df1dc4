// What of a result is worth keeping and comparing with next time: states and rates of ports, error counters
// that are not zero, and bandwidths where a test was watched.
#pragma once

#include <vector>

#include "model/metric.hpp"
#include "model/rdma_rates.hpp"

namespace angio::rdma {

// with_bandwidth: the interval was a test's, so its rates compare with those of another day.
std::vector<model::Metric> metrics_of(const model::RdmaRates& rates, bool with_bandwidth);

}  // namespace angio::rdma
