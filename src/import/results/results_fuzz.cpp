// Any bytes as a file of results: either something was read, or the error says what is known.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/results/results.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto results = angio::import::results::read(bytes, "fuzz");
  if (results && results->empty()) std::abort();
  if (!results && results.error().message.empty()) std::abort();
  return 0;
}
