#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/job_evidence/job_evidence.hpp"

// Whatever the bytes: every fact names a line of the text, every figure is a number, and a second reading of
// the same bytes gives as much.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  import::job_evidence::Reader reader;
  reader.add(bytes, "a");
  const auto first = reader.take();
  const bool plain = !first.files.at(0).gzip;
  for (const model::NcclTestsTable& table : first.facts.tests) {
    for (const model::NcclTestsRow& row : table.rows) {
      if (plain && row.source.line > size + 1) std::abort();
      for (const auto* half : {&row.out_of_place, &row.in_place})
        if (*half && (!std::isfinite((*half)->bus.value) || !((*half)->bus.value >= 0))) std::abort();
    }
  }
  for (const model::RasReport& report : first.facts.ras)
    if (plain && report.source.line > size + 1) std::abort();
  reader.add(bytes, "a");
  const auto second = reader.take();
  if (first.facts.tests.size() != second.facts.tests.size() ||
      first.facts.ras.size() != second.facts.ras.size() || first.empty() != second.empty())
    std::abort();
  return 0;
}
