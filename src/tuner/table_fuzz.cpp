// Tables of any bytes: nothing crashes, and the index gives the row that a look through all rows gives.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "tuner/choices.hpp"
#include "tuner/table.hpp"

namespace {

using angio::tuner::Rule;
using angio::tuner::Table;

const Rule* scan(const Table& table, std::uint64_t bytes) {
  for (const Rule& rule : table.rules)
    if (rule.collective == angio::tuner::Collective::kAllReduce && rule.bytes.has(bytes) &&
        rule.nodes.has(2) && rule.ranks.has(16) && rule.pipe_ops.has(1) && rule.registered.has(0))
      return &rule;
  return nullptr;
}

void check(const std::shared_ptr<const Table>& table, const angio::tuner::Choices& choices,
           std::uint64_t bytes) {
  if (choices.find(angio::tuner::Collective::kAllReduce, bytes, 1, false) != scan(*table, bytes))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = std::make_shared<const Table>(angio::tuner::parse_table(text));
  const angio::tuner::Choices choices(table, 2, 16);
  for (const Rule& rule : table->rules) {
    if (rule.bytes.low > rule.bytes.high) std::abort();
    check(table, choices, rule.bytes.low);
    check(table, choices, rule.bytes.low - 1);
    check(table, choices, rule.bytes.high);
    check(table, choices, rule.bytes.high + 1);
  }
  return 0;
}
