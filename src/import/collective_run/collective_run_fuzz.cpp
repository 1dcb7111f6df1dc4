// Any bytes as the JSON of angio bench collective: no figure is infinite.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/collective_run/collective_run.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(angio::import::collective_run::looks_like_json(bytes));
  const auto run = angio::import::collective_run::parse(bytes, "fuzz");
  if (!run) return 0;
  for (const angio::model::CollectiveRow& row : run->rows)
    if (!std::isfinite(row.time_us) || !std::isfinite(row.bus.value)) std::abort();
  return 0;
}
