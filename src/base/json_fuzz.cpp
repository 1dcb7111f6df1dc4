// What parses prints, and what was printed parses to the same text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const angio::Result<angio::Json> json = angio::parse_json(text);
  if (!json) return 0;
  const std::string printed = angio::to_text(*json);
  const angio::Result<angio::Json> again = angio::parse_json(printed);
  if (!again || angio::to_text(*again) != printed) std::abort();
  return 0;
}
