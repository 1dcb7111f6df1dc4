// Any bytes as nvbandwidth's text and as its JSON: figures are finite, every test has a name or a matrix.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/nvbandwidth/nvbandwidth.hpp"

namespace {

void check(const angio::model::NvbandwidthRun& run) {
  for (const angio::model::NvbandwidthTest& test : run.tests) {
    if (test.sum && !std::isfinite(*test.sum)) std::abort();
    for (const auto& row : test.matrix)
      for (const auto& cell : row)
        if (cell && !std::isfinite(*cell)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(angio::import::nvbandwidth::looks_like(bytes));
  static_cast<void>(angio::import::nvbandwidth::looks_like_json(bytes));
  for (const auto& run : angio::import::nvbandwidth::parse(bytes))
    check(run);
  if (const auto run = angio::import::nvbandwidth::parse_json_run(bytes, "fuzz")) check(*run);
  return 0;
}
