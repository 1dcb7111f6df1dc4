#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/perftest/perftest.hpp"

// Rows are lines of the text, and every figure is a number.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::size_t rows = 0;
  for (const auto& run : angio::import::perftest::parse(bytes)) {
    rows += run.rows.size();
    for (const auto& row : run.rows) {
      if (row.average && !(row.average->value >= 0)) std::abort();
      if (row.average_us && !std::isfinite(*row.average_us)) std::abort();
    }
  }
  if (rows > size) std::abort();
  return 0;
}
