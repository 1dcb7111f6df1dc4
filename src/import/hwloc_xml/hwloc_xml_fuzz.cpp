// Any bytes as hwloc's XML.
#include <cstdint>
#include <string_view>

#include "import/hwloc_xml/hwloc_xml.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(angio::import::hwloc_xml::import_topology(
      bytes, angio::import::Draft(angio::import::ForeignKind::kHwlocXml, "fuzz")));
  return 0;
}
