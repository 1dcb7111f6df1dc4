// Any text as nvidia-smi topo -m and -p2p.
#include <cstdint>
#include <string>
#include <string_view>

#include "import/smi_topo/smi_topo.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string cleaned = angio::import::clean_terminal(bytes);
  static_cast<void>(angio::import::smi_topo::import_tables(
      angio::import::number_lines(cleaned),
      angio::import::Draft(angio::import::ForeignKind::kNvidiaSmiTopo, "fuzz")));
  return 0;
}
