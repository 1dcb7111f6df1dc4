// Hostile answers into the scan. Properties: it ends, within the number of questions that its limits give;
// every cable has two ends; ports are in order.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "probe/umad/test_hostile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!angio::probe::umad::scan_hostile({data, size}).empty()) std::abort();
  return 0;
}
