// A table before its words are understood: rows of columns and texts. Two readers make it, one for a plain
// part of TOML and one for CSV; both go on after a bad line, so that one look shows everything that is wrong.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/table.hpp"
#include "tuner/words.hpp"

namespace angio::tuner {

struct Cell {
  std::string text;
  std::uint32_t line = 0;
};

struct Row {
  std::uint32_t line = 0;
  bool broken = false;  // a problem was said already: what is missing in it is no news
  std::array<std::optional<Cell>, kColumns> cells;
  std::optional<Cell>& operator[](Column column) { return cells.at(static_cast<std::size_t>(column)); }
  const std::optional<Cell>& operator[](Column column) const {
    return cells.at(static_cast<std::size_t>(column));
  }
};

struct Rows {
  std::vector<Row> rows;
  std::vector<Remark> problems;  // at most kMaxRemarks
  std::size_t more_problems = 0;
  void problem(std::uint32_t line, std::string message, std::string hint = {});
};

// TOML 1.0 without what no table needs: multi-line strings, arrays, inline tables, floats, dates and dotted
// keys are refused by name. Whatever it takes means in TOML what it means here.
Rows read_toml(std::string_view text);
// A line a row, '#' begins a comment. With a line of column names first, in any order; else the columns stand
// as in NCCL's example tuner:
// colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps[,regBuff]].
Rows read_csv(std::string_view text);

// A word of the file inside a message: printable, quoted, cut if long.
std::string quoted(std::string_view text);

}  // namespace angio::tuner
