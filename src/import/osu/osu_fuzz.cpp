// Any text: rows have a value and a line of the text, and no figure is negative.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/osu/osu.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const angio::model::OsuTable& table : angio::import::osu::parse(bytes)) {
    if (table.rows.empty() && table.damaged_rows == 0) std::abort();
    for (const angio::model::OsuRow& row : table.rows) {
      if (!row.average_us && !row.rate && !row.minimum_us && !row.maximum_us && !row.messages_per_second)
        std::abort();
      if (row.line == 0 || row.line < table.line) std::abort();
      if (row.average_us.value_or(0) < 0) std::abort();
    }
  }
  return 0;
}
