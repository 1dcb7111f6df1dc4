// Any text as lscpu, lscpu -p and lscpu -J.
#include <cstdint>
#include <string>
#include <string_view>

#include "import/lscpu/lscpu.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string cleaned = angio::import::clean_terminal(bytes);
  static_cast<void>(
      angio::import::lscpu::import_lscpu(angio::import::number_lines(cleaned), cleaned,
                                         angio::import::Draft(angio::import::ForeignKind::kLscpu, "fuzz")));
  return 0;
}
