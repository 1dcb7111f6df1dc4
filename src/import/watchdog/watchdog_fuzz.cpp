#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.hpp"
#include "import/watchdog/watchdog.hpp"

// Every fact names a line of the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  angio::import::watchdog::LineReader reader;
  std::uint32_t number = 0;
  for (const std::string_view line : angio::split_lines({reinterpret_cast<const char*>(data), size}))
    reader.read(1, ++number, line);
  const auto report = reader.take();
  if (report.lines > number || report.timeouts.size() > number || report.errors.size() > number) std::abort();
  for (const auto& timeout : report.timeouts)
    if (timeout.source.line == 0 || timeout.source.line > number) std::abort();
  return 0;
}
