#include <algorithm>

#include "base/text.hpp"
#include "tuner/rows.hpp"

namespace angio::tuner {
namespace {

// A spreadsheet may quote what needs no quotes.
std::string_view unquoted(std::string_view cell) {
  cell = trim(cell);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
    cell = trim(cell.substr(1, cell.size() - 2));
  return cell;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells = split(line, ',');
  std::ranges::transform(cells, cells.begin(), unquoted);
  return cells;
}

std::vector<std::optional<Column>> usual_columns() {
  std::vector<std::optional<Column>> columns;
  for (std::size_t i = 0; i < kColumns; ++i)
    columns.emplace_back(static_cast<Column>(i));
  return columns;
}

class CsvReader {
 public:
  void read_line(std::string_view line, std::uint32_t number) {
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) return;
    const std::vector<std::string_view> cells = cells_of(line);
    const bool first = columns_.empty();
    if (first && parse_column(cells.front())) return read_header(cells, number);
    if (first) columns_ = usual_columns();
    read_row(cells, number);
  }

  Rows take() && { return std::move(rows_); }

 private:
  void read_header(const std::vector<std::string_view>& cells, std::uint32_t number) {
    named_ = true;
    for (const std::string_view cell : cells) {
      const auto column = parse_column(cell);
      if (!column)
        rows_.problem(number, "there is no column " + quoted(cell), column_hint(cell));
      else if (std::ranges::find(columns_, column) != columns_.end())
        rows_.problem(number, "the column " + std::string(to_word(*column)) + " stands twice");
      columns_.push_back(column);
    }
  }

  void read_row(const std::vector<std::string_view>& cells, std::uint32_t number) {
    Row row{.line = number, .broken = false, .cells = {}};
    // Without names the last two columns may be left out, as in NCCL's example.
    const std::size_t least = named_ ? columns_.size() : kColumns - 2;
    if (cells.size() < least || cells.size() > columns_.size()) {
      const std::string expected = least == columns_.size()
                                       ? std::to_string(least)
                                       : std::to_string(least) + " to " + std::to_string(columns_.size());
      rows_.problem(number, "the row has " + std::to_string(cells.size()) + " columns, expected " + expected,
                    named_ ? "" : "a first line with the names of the columns frees their number and order");
      row.broken = true;
    }
    for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i)
      if (columns_[i] && !cells[i].empty()) row[*columns_[i]] = Cell{std::string(cells[i]), number};
    rows_.rows.push_back(std::move(row));
  }

  bool named_ = false;
  std::vector<std::optional<Column>> columns_;
  Rows rows_;
};

}  // namespace

Rows read_csv(std::string_view text) {
  CsvReader reader;
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(text))
    reader.read_line(line, ++number);
  return std::move(reader).take();
}

}  // namespace angio::tuner
