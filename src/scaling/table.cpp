#include "scaling/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"

namespace angio::scaling {
namespace {

// A table of results has tens of rows; more than this is another kind of file.
constexpr std::size_t kMostRows = 100000;
constexpr std::size_t kMostColumns = 1000;
constexpr std::size_t kMostTables = 1000;
constexpr std::size_t kLongHeading = 400;

void note(std::vector<Note>& notes, std::string words, std::uint32_t line) {
  for (Note& one : notes)
    if (one.words == words) {
      ++one.count;
      return;
    }
  notes.push_back({std::move(words), line, 1});
}

// ---- lines of text

struct Line {
  std::string_view text;
  std::uint32_t number = 0;
};

std::vector<std::string> pipe_cells(std::string_view line) {
  line = trim(line);
  if (line.starts_with('|')) line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  std::vector<std::string> cells;
  for (const std::string_view part : split(line, '|'))
    cells.emplace_back(trim(part));
  return cells;
}

// |:---|---:|
bool is_rule(std::string_view line) {
  if (line.find('|') == std::string_view::npos || line.find('-') == std::string_view::npos) return false;
  return std::ranges::all_of(trim(line), [](char c) { return c == '|' || c == '-' || c == ':' || c == ' '; });
}

// Quotes as in RFC 4180; a quote that never ends takes the rest of the line.
std::vector<std::string> delimited_cells(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (at + 1 < line.size() && line[at + 1] == '"') {
        cells.back() += '"';
        ++at;
      } else {
        quoted = false;
      }
    } else if (c == '"' && trim(cells.back()).empty()) {
      quoted = true;
    } else if (c == separator) {
      if (cells.size() >= kMostColumns) break;
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  for (std::string& cell : cells)
    cell = std::string(trim(cell));
  return cells;
}

std::vector<std::string> word_cells(std::string_view line) {
  std::vector<std::string> cells;
  for (const std::string_view word : split_words(trim(line)))
    cells.emplace_back(word);
  return cells;
}

bool has_name(const std::vector<std::string>& cells) {
  return std::ranges::any_of(cells, [](const std::string& cell) {
    return !cell.empty() && !parse_double(cell) && cell.find_first_of("0123456789") != 0;
  });
}

std::string_view without_mark(std::string_view line) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  return line.starts_with(kByteOrderMark) ? line.substr(kByteOrderMark.size()) : line;
}

void add_row(RawTable& table, std::vector<std::string> cells, std::uint32_t line, std::vector<Note>& notes) {
  if (std::ranges::all_of(cells, [](const std::string& cell) { return cell.empty(); })) return;
  if (table.rows.size() >= kMostRows) {
    note(notes, fmt::format("rows beyond {} are left out", kMostRows), line);
    return;
  }
  while (cells.size() > table.header.size() && cells.back().empty())
    cells.pop_back();
  if (cells.size() > table.header.size()) {
    note(notes, "row with more cells than the header has", line);
    return;
  }
  table.rows.push_back({line, std::move(cells)});
}

class TextReader {
 public:
  explicit TextReader(std::string_view text) {
    std::uint32_t number = 0;
    for (const std::string_view line : split_lines(text))
      lines_.push_back({number == 0 ? without_mark(line) : line, ++number});
  }

  RawTables read() {
    read_markdown();
    if (result_.tables.empty()) read_delimited();
    return std::move(result_);
  }

 private:
  // Headings, captions and short lines before a table; not what a text says at length.
  void hear(std::string_view line) {
    constexpr std::size_t kShort = 80;
    const bool marked = line.starts_with('#') || line.starts_with("**");
    if (marked || line.size() <= kShort) heading_ = std::string(line.substr(0, kLongHeading));
  }

  void read_markdown() {
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      const std::string_view line = trim(lines_[at].text);
      if (at + 1 < lines_.size() && line.find('|') != std::string_view::npos &&
          is_rule(lines_[at + 1].text) && result_.tables.size() < kMostTables) {
        at = read_markdown_table(at);
      } else if (!line.empty()) {
        hear(line);
      }
    }
  }

  std::size_t read_markdown_table(std::size_t at) {
    RawTable table;
    table.form = "Markdown table";
    table.heading = heading_;
    table.line = lines_[at].number;
    table.header = pipe_cells(lines_[at].text);
    if (table.header.size() > kMostColumns) table.header.resize(kMostColumns);
    at += 2;
    for (; at < lines_.size() && lines_[at].text.find('|') != std::string_view::npos; ++at)
      if (!is_rule(lines_[at].text))
        add_row(table, pipe_cells(lines_[at].text), lines_[at].number, result_.notes);
    result_.tables.push_back(std::move(table));
    return at - 1;
  }

  // The first line with names is the header; what decides is which separator it has.
  void read_delimited() {
    heading_.clear();
    std::size_t at = 0;
    for (; at < lines_.size(); ++at) {
      const std::string_view line = trim(lines_[at].text);
      if (line.empty()) continue;
      if (line.starts_with('#')) {
        heading_ += (heading_.empty() ? "" : " ") + std::string(trim(line.substr(1, kLongHeading)));
        continue;
      }
      break;
    }
    if (at == lines_.size()) return;
    RawTable table;
    const std::string_view line = lines_[at].text;
    char separator = ' ';
    table.form = "words in columns";
    for (const auto& [character, form] :
         {std::pair{'\t', "TSV"}, std::pair{';', "CSV with semicolons"}, std::pair{',', "CSV"}})
      if (separator == ' ' && line.find(character) != std::string_view::npos) {
        separator = character;
        table.form = form;
      }
    table.decimal_comma = separator == ';';
    const auto cells_of = [separator](std::string_view text) {
      return separator == ' ' ? word_cells(text) : delimited_cells(text, separator);
    };
    table.heading = heading_;
    table.line = lines_[at].number;
    table.header = cells_of(line);
    if (table.header.size() < 2 || table.header.size() > kMostColumns) return;
    if (!has_name(table.header)) {
      note(result_.notes, "no names of columns: the first line should be as \"gpus,throughput\"", table.line);
      return;
    }
    if (separator == ' ' && !is_followed(at, table.header.size())) return;
    for (++at; at < lines_.size(); ++at)
      if (const std::string_view row = trim(lines_[at].text); !row.empty() && !row.starts_with('#'))
        add_row(table, cells_of(lines_[at].text), lines_[at].number, result_.notes);
    result_.tables.push_back(std::move(table));
  }

  // Words in columns: a log is none.
  [[nodiscard]] bool is_followed(std::size_t at, std::size_t cells) const {
    for (++at; at < lines_.size(); ++at)
      if (!trim(lines_[at].text).empty()) return word_cells(lines_[at].text).size() == cells;
    return false;
  }

  std::vector<Line> lines_;
  std::string heading_;
  RawTables result_;
};

// ---- JSON

std::string cell_of(const Json& value) {
  if (const std::string* text = value.as_string()) return *text;
  if (const std::int64_t* number = value.as_integer()) return std::to_string(*number);
  if (const double* number = value.as_double()) return fmt::format("{}", *number);
  if (const bool* flag = value.as_bool()) return *flag ? "true" : "false";
  return "";  // null, and what is no cell
}

std::size_t column(RawTable& table, const std::string& name) {
  const auto found = std::ranges::find(table.header, name);
  if (found != table.header.end()) return static_cast<std::size_t>(found - table.header.begin());
  if (table.header.size() >= kMostColumns) return kMostColumns;
  table.header.push_back(name);
  return table.header.size() - 1;
}

bool is_object(const Json& value) {
  return value.as_object() != nullptr;
}

// Cells that are lists are repeats: a row for each.
void add_object(const Json::Object& object, std::uint32_t number, RawTable& table, std::vector<Note>& notes) {
  RawRow row{number, {}};
  std::size_t repeats = 1;
  for (const auto& [name, value] : object)
    if (const Json::Array* list = value.as_array(); list != nullptr && list->size() > repeats)
      repeats = std::min(list->size(), kMostRows);
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    row.cells.assign(table.header.size(), "");
    for (const auto& [name, value] : object) {
      const std::size_t at = column(table, name);
      if (at == kMostColumns) continue;
      if (row.cells.size() <= at) row.cells.resize(at + 1);
      const Json::Array* list = value.as_array();
      if (list == nullptr) row.cells[at] = cell_of(value);
      if (list != nullptr && repeat < list->size()) row.cells[at] = cell_of((*list)[repeat]);
    }
    add_row(table, row.cells, number, notes);
  }
}

void add_objects(const Json::Array& rows, const std::string& heading, RawTables& result) {
  RawTable table;
  table.form = "JSON";
  table.heading = heading;
  std::uint32_t number = 0;
  for (const Json& row : rows) {
    ++number;
    if (const Json::Object* object = row.as_object()) {
      add_object(*object, number, table, result.notes);
    } else {
      note(result.notes, "JSON row that is no object", number);
    }
  }
  if (!table.header.empty() && result.tables.size() < kMostTables) result.tables.push_back(std::move(table));
}

// {"gpus": [1, 2], "throughput": [100, 190]}: columns of one length.
bool are_columns(const Json::Object& object) {
  std::size_t lists = 0;
  std::size_t length = 0;
  for (const auto& [name, value] : object) {
    const Json::Array* list = value.as_array();
    if (list == nullptr) continue;
    if (list->empty() || is_object(list->front()) || list->front().as_array() != nullptr) return false;
    if (lists++ == 0) length = list->size();
    if (list->size() != length) return false;
  }
  return lists >= 2;
}

constexpr int kDepth = 8;

void find_tables(const Json& value, const std::string& name, int depth, RawTables& result) {
  if (depth > kDepth) return;
  if (const Json::Array* list = value.as_array()) {
    if (std::ranges::any_of(*list, is_object)) add_objects(*list, name, result);
    return;
  }
  const Json::Object* object = value.as_object();
  if (object == nullptr) return;
  if (are_columns(*object)) {
    add_objects({value}, name, result);
    return;
  }
  for (const auto& [key, member] : *object)
    find_tables(member, key, depth + 1, result);
}

// One object a line.
std::optional<RawTables> read_json_lines(std::string_view text) {
  Json::Array rows;
  for (const std::string_view line : split_lines(text)) {
    if (trim(line).empty() || rows.size() >= kMostRows) continue;
    auto row = parse_json(line);
    if (!row || !is_object(*row)) return std::nullopt;
    rows.push_back(std::move(*row));
  }
  RawTables result;
  add_objects(rows, "", result);
  return result;
}

RawTables read_json(std::string_view text) {
  if (const auto parsed = parse_json(text)) {
    RawTables result;
    find_tables(*parsed, "", 0, result);
    return result;
  } else if (auto lines = read_json_lines(text)) {
    return std::move(*lines);
  } else {
    RawTables result;
    result.notes.push_back({"is no JSON: " + parsed.error().message, 0, 1});
    return result;
  }
}

}  // namespace

RawTables parse_tables(std::string_view text) {
  const std::string_view start = trim(without_mark(text));
  if (start.starts_with('{') || start.starts_with('[')) return read_json(without_mark(text));
  return TextReader(text).read();
}

}  // namespace angio::scaling
