#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.hpp"
#include "import/nccl_ras/nccl_ras.hpp"

// No more ranks and processes than lines; the JSON reader gives reports or an error that names the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ras = angio::import::nccl_ras;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ras::RasReader reader(1);
  std::uint32_t number = 0;
  for (const std::string_view line : angio::split_lines(bytes))
    reader.read(++number, line);
  std::size_t problems = 0;
  for (const auto& report : reader.take())
    problems += report.problems.size() + report.groups.size();
  if (problems > number) std::abort();
  const auto reports = ras::parse_json_report(bytes, "f.json", 1);
  if (!reports && !reports.error().message.starts_with("f.json: ")) std::abort();
  return 0;
}
