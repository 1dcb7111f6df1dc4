#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/job_log/job_log.hpp"

// Every event names a line of the text, and no log makes more events than there are kinds and nodes in it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  angio::model::Machine machine;
  angio::import::job_log::add_log(bytes, "log", machine);
  for (const auto& log : machine.logs) {
    for (const auto& event : log.memory) {
      if (event.source.line == 0 || event.source.line > size + 1 || event.count == 0) std::abort();
    }
  }
  return 0;
}
