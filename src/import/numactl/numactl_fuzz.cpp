// Any text as numactl --hardware.
#include <cstdint>
#include <string>
#include <string_view>

#include "import/numactl/numactl.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string cleaned = angio::import::clean_terminal(bytes);
  static_cast<void>(angio::import::numactl::import_hardware(
      angio::import::number_lines(cleaned),
      angio::import::Draft(angio::import::ForeignKind::kNumactl, "fuzz")));
  return 0;
}
