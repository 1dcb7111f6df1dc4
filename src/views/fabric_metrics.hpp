// The figures of a fabric that are worth keeping from one scan to the next: how many nodes and links there
// are, how each link runs, and each error counter that is not zero. Not every zero, and no traffic counters.
#pragma once

#include <vector>

#include "model/fabric.hpp"
#include "model/metric.hpp"

namespace angio::views {

std::vector<model::Metric> fabric_metrics(const model::Fabric& fabric);

}  // namespace angio::views
