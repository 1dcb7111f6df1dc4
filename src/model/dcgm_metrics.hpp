// Rates of a GPU's links as dcgm-exporter gives them to Prometheus. The fields are bytes a second (gauges),
// whatever type the text declares for them. Not a verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace angio::model {

struct DcgmRate {
  std::string field;  // "DCGM_FI_PROF_PCIE_TX_BYTES"
  std::string type;   // that the text declares: "gauge", "counter"; empty: none
  std::string gpu;    // "0"
  std::string gpu_name;
  BytesPerSecond rate;
  std::uint32_t line = 0;
};

struct DcgmMetrics {
  std::vector<DcgmRate> rates;
};

}  // namespace angio::model
