#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.hpp"
#include "import/nccl_inspector/nccl_inspector.hpp"

// Every line that is not blank is a record or damage, and the sums are those of their records.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  angio::import::nccl_inspector::RecordReader reader;
  std::uint32_t number = 0;
  for (const std::string_view line : angio::split_lines({reinterpret_cast<const char*>(data), size}))
    reader.read(1, ++number, line);
  const auto summary = reader.take();
  if (summary.records + summary.damaged > number) std::abort();
  std::uint64_t records = summary.left_out;
  for (const auto& sum : summary.aggregates)
    records += sum.records;
  if (records != summary.records) std::abort();
  return 0;
}
