// Tables as people keep results in: CSV (comma or semicolon), TSV, Markdown, words in columns, JSON (rows of
// objects, or columns as arrays; also one object a line). Text cells only: what they mean is columns.hpp's.
// What cannot be read is counted and said, and costs nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace angio::scaling {

struct RawRow {
  std::uint32_t line = 0;  // of the input; in JSON the number of the row
  std::vector<std::string> cells;
};

struct RawTable {
  std::string form;     // "CSV", "Markdown table"
  std::string heading;  // last heading and comments before it
  std::uint32_t line = 0;
  bool decimal_comma = false;  // columns are told apart by semicolons: "1,5" may be one and a half
  std::vector<std::string> header;
  std::vector<RawRow> rows;
};

struct Note {
  std::string words;
  std::uint32_t line = 0;
  std::uint32_t count = 1;
};

struct RawTables {
  std::vector<RawTable> tables;
  std::vector<Note> notes;
};

RawTables parse_tables(std::string_view text);

}  // namespace angio::scaling
