// Whatever the text, it is read or refused; what was read is positive and finite, and what is analysed keeps
// the baseline at 1 and shares between 0 and 1.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scaling/read.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::scaling;
  constexpr std::size_t kMost = 65536;
  if (size > kMost) return 0;
  const auto reading = read_results({reinterpret_cast<const char*>(data), size}, {});
  if (!reading) return 0;
  for (const TableSeries& table : reading->series) {
    for (const Point& point : table.series.points)
      for (const double value : point.values)
        if (point.count == 0 || !std::isfinite(value) || value <= 0) __builtin_trap();
    for (const Mode mode : {Mode::kStrong, Mode::kWeak}) {
      const auto scaling = analyse(table, mode, std::nullopt);
      if (!scaling) continue;
      for (const ScaledPoint& point : scaling->points)
        if (point.count == scaling->baseline && std::abs(point.efficiency - 1) > 1e-9) __builtin_trap();
      if (scaling->split && !(scaling->split->serial >= 0 && scaling->split->serial <= 1)) __builtin_trap();
    }
  }
  return 0;
}
