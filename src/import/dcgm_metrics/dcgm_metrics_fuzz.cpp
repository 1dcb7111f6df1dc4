// Any text: every rate has a field, a line and a figure that is not negative.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/dcgm_metrics/dcgm_metrics.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(angio::import::dcgm_metrics::looks_like(bytes));
  for (const angio::model::DcgmRate& rate : angio::import::dcgm_metrics::parse(bytes).rates)
    if (rate.field.empty() || rate.line == 0 || rate.rate.value < 0) std::abort();
  return 0;
}
