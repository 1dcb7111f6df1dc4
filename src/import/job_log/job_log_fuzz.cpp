#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/job_log/job_log.hpp"

// Every event names a line of the text, and no log makes more events than there are kinds and nodes in it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string cleaned = angio::import::clean_terminal(bytes);
  angio::import::job_log::MemoryReader reader(0);
  for (const auto& line : angio::import::number_lines(cleaned))
    reader.read(line.number, line.text);
  for (const auto& event : reader.take()) {
    if (event.source.line == 0 || event.source.line > size + 1 || event.count == 0) std::abort();
  }
  return 0;
}
