#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "phantom/hardware.hpp"

// What was read and is written again reads as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::phantom;
  Hardware hardware;
  if (!parse_hardware(std::string_view(reinterpret_cast<const char*>(data), size), hardware).empty()) {
    return 0;
  }
  const std::string text = write_hardware(hardware);
  Hardware again;
  if (!parse_hardware(text, again).empty() || write_hardware(again) != text) {
    std::abort();
  }
  return 0;
}
