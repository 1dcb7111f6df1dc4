// Any text as lspci.
#include <cstdint>
#include <string>
#include <string_view>

#include "import/lspci/lspci.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string cleaned = angio::import::clean_terminal(bytes);
  static_cast<void>(
      angio::import::lspci::import_lspci(angio::import::number_lines(cleaned),
                                         angio::import::Draft(angio::import::ForeignKind::kLspci, "fuzz")));
  return 0;
}
