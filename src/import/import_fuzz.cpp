// The door: what is imported was recognised, whatever the bytes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/import.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto machine = angio::import::import_machine(bytes, "fuzz");
  const bool unknown = angio::import::recognise(bytes) == angio::import::ForeignKind::kUnknown;
  if (machine.has_value() && unknown) std::abort();
  return 0;
}
