// Any bytes as the JSON of angio bench memory.
#include <cstdint>
#include <string_view>

#include "import/memory_run/memory_run.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(angio::import::memory_run::looks_like_json(bytes));
  static_cast<void>(angio::import::memory_run::parse(bytes, "fuzz"));
  return 0;
}
