// The text of dcgm-exporter (Prometheus' exposition format): the fields that are rates of PCIe and NVLink.
// Never fails: other lines are passed over.
#pragma once

#include <string_view>

#include "model/dcgm_metrics.hpp"

namespace angio::import::dcgm_metrics {

bool looks_like(std::string_view bytes);
model::DcgmMetrics parse(std::string_view bytes);

}  // namespace angio::import::dcgm_metrics
