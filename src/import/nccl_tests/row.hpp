// One line of a table of nccl-tests: the titles say which columns there are, the row fills them. Used by the
// text reader only.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "model/nccl_tests.hpp"

namespace angio::import::nccl_tests {

// Where things stand behind "size count type", in words.
struct Columns {
  bool reduction = true;  // a column "redop"; it may still be blank in a row
  bool root = true;
  bool deviation = false;  // the last column of a half is "error", not "#wrong"
  bool cpu_time = false;
  std::size_t second = 4;  // words from the first half's start to the second's
  bool known = false;      // the titles were seen
};

// None when the line is not the one with the titles.
std::optional<Columns> parse_titles(std::string_view line);

struct ParsedRow {
  model::NcclTestsRow row;
  bool damaged = false;  // it is a row, but its numbers are not numbers
};
// None when the line is no row. Whatever launchers put before it is skipped.
std::optional<ParsedRow> parse_row(std::string_view line, const Columns& columns);

}  // namespace angio::import::nccl_tests
