// One figure that is worth keeping and comparing with next time: what every result that `angio history` takes
// carries in its JSON under "metrics". Values only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace angio::model {

// Which way is worse. A counter only grows (until it is reset): its growth between two results is what
// counts.
enum class MetricKind : std::uint8_t { kHigherIsBetter, kLowerIsBetter, kCounterOfErrors, kCounter, kState };

struct Metric {
  std::string subject;  // "leaf-3 port 12", "gpu-a mlx5_0 port 1", "gpu-a mlx5_0 -> gpu-b mlx5_0"
  std::string name;     // "SymbolErrorCounter", "write bandwidth"
  double value = 0;
  std::string text;  // kState: "4x HDR Active"; value means nothing then
  std::string unit;  // "errors", "Gb/s", "us"
  MetricKind kind = MetricKind::kHigherIsBetter;
  std::vector<double> samples{};  // repeats behind the value, in its unit, where there were several
};

}  // namespace angio::model
