#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.hpp"
#include "import/nccl_tests/nccl_tests.hpp"

// Rows are lines of the text; the JSON reader gives a table or an error that names the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace tests = angio::import::nccl_tests;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tests::TableReader reader(1);
  std::uint32_t number = 0;
  for (const std::string_view line : angio::split_lines(bytes))
    reader.read(++number, line);
  std::size_t rows = 0;
  for (const auto& table : reader.take())
    rows += table.rows.size();
  if (rows > number) std::abort();
  const auto table = tests::parse_json_table(bytes, "f.json", 1);
  if (!table && !table.error().message.starts_with("f.json: ")) std::abort();
  return 0;
}
