// Any bytes as NCCL's topology XML; the XML mender with it.
#include <cstdint>
#include <string_view>

#include "import/nccl_topology/nccl_topology.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(angio::import::nccl_topology::import_topology(
      bytes, angio::import::Draft(angio::import::ForeignKind::kNcclTopology, "fuzz")));
  return 0;
}
