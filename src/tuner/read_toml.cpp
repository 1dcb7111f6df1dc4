#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "tuner/rows.hpp"

namespace angio::tuner {
namespace {

constexpr bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// What is left of one line. TOML's blanks are space and tab.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }
  [[nodiscard]] bool starts_with(std::string_view part) const { return rest_.starts_with(part); }
  bool take(std::string_view part) {
    if (!rest_.starts_with(part)) return false;
    rest_.remove_prefix(part.size());
    return true;
  }
  std::string_view take_bare() {
    const auto end = std::ranges::find_if_not(rest_, is_bare);
    const auto size = static_cast<std::size_t>(end - rest_.begin());
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }
  char take_char() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  // Nothing but blanks and a comment.
  [[nodiscard]] bool is_done() const {
    const std::size_t next = rest_.find_first_not_of(" \t");
    return next == std::string_view::npos || rest_[next] == '#';
  }

 private:
  std::string_view rest_;
};

// The text of a value or a key, or why there is none.
struct Taken {
  std::string text;
  std::string problem;
  std::string hint;
};

Taken refuse(std::string problem, std::string hint = {}) {
  return {{}, std::move(problem), std::move(hint)};
}

// No word of a table needs more than these; \u stands for letters that no word has.
std::optional<char> escaped(char c) {
  constexpr std::array<std::pair<char, char>, 7> kEscapes{
      {{'b', '\b'}, {'t', '\t'}, {'n', '\n'}, {'f', '\f'}, {'r', '\r'}, {'"', '"'}, {'\\', '\\'}}};
  const auto found = std::ranges::find(kEscapes, c, &std::pair<char, char>::first);
  return found == kEscapes.end() ? std::nullopt : std::optional(found->second);
}

Taken take_string(Line& line) {
  const char quote = line.take_char();
  if (line.starts_with(std::string(2, quote))) return refuse("a string over several lines is not known here");
  Taken taken;
  while (!line.empty()) {
    const char c = line.take_char();
    if (c == quote) return taken;
    if (c != '\\' || quote == '\'') {
      taken.text += c;
      continue;
    }
    const auto real = line.empty() ? std::nullopt : escaped(line.take_char());
    if (!real) return refuse("a backslash in a string begins no escape that is known here");
    taken.text += *real;
  }
  return refuse("the string is not closed", std::string("a ") + quote + " is missing at its end");
}

// A decimal integer of TOML: a sign, digits, single '_' between digits, no leading zero.
bool is_integer(std::string_view word) {
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  if (word.empty() || (word.size() > 1 && word.front() == '0')) return false;
  bool after_digit = false;
  for (const char c : word) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c == '_' && after_digit)) return false;
    after_digit = digit;
  }
  return after_digit;
}

std::string without_extras(std::string_view integer) {
  std::string digits(integer.starts_with('+') ? integer.substr(1) : integer);
  std::erase(digits, '_');
  return digits;
}

Taken take_value(Line& line) {
  if (line.starts_with("\"") || line.starts_with("'")) return take_string(line);
  if (line.starts_with("["))
    return refuse("a list is not known here", "write one [[rule]] for each of its values");
  if (line.starts_with("{"))
    return refuse("an inline table is not known here", "write one [[rule]] for each");
  const std::string_view whole = line.rest();
  const std::string_view word = trim(whole.substr(0, whole.find('#')));
  line = Line(whole.substr(std::min(whole.size(), whole.find('#'))));
  if (word.empty()) return refuse("the value is missing");
  if (word == "true" || word == "false") return {std::string(word), {}, {}};
  if (is_integer(word)) return {without_extras(word), {}, {}};
  return refuse(quoted(word) + " is neither a whole decimal number nor a string",
                "write words and sizes with letters in quotes: \"" + printable(word.substr(0, 32)) + "\"");
}

Taken take_key(Line& line) {
  if (line.starts_with("\"") || line.starts_with("'")) return take_string(line);
  const std::string_view word = line.take_bare();
  if (word.empty()) return refuse("neither [[rule]] nor key = value");
  return {std::string(word), {}, {}};
}

class TomlReader {
 public:
  void read_line(std::string_view text, std::uint32_t number) {
    number_ = number;
    Line line(text);
    line.skip_blanks();
    if (line.is_done() && is_text(text)) return;
    if (!is_text(text))
      return problem("the line holds bytes that are no text (control characters or not UTF-8)");
    if (line.starts_with("[")) return read_header(line);
    read_pair(line);
  }

  Rows take() && { return std::move(rows_); }

 private:
  // Whether TOML allows these bytes in a line: tabs, but no other control characters, and valid UTF-8.
  static bool is_text(std::string_view text) {
    std::string tabless(text);
    std::ranges::replace(tabless, '\t', ' ');
    return printable(tabless) == tabless;
  }

  void problem(std::string message, std::string hint = {}) {
    rows_.problem(number_, std::move(message), std::move(hint));
    if (in_row_) rows_.rows.back().broken = true;
  }

  void read_header(Line line) {
    in_row_ = false;
    skipping_ = false;
    const bool array = line.take("[[");
    if (!array) line.take("[");
    line.skip_blanks();
    const Taken name = take_key(line);
    line.skip_blanks();
    const bool closed = line.take(array ? "]]" : "]") && line.is_done();
    if (array && closed && name.text == "rule") {
      rows_.rows.push_back(Row{.line = number_, .broken = false, .cells = {}});
      in_row_ = true;
      return;
    }
    skipping_ = true;
    problem("only [[rule]] is known here" + (closed ? ", not " + quoted(name.text) : std::string()),
            "each row begins with a line [[rule]]");
  }

  void read_pair(Line line) {
    const Taken key = take_key(line);
    if (!key.problem.empty()) return problem(key.problem, key.hint);
    line.skip_blanks();
    if (line.starts_with(".")) return problem("a dotted key is not known here");
    if (!line.take("=")) return problem("after " + quoted(key.text) + " a = is missing");
    line.skip_blanks();
    const Taken value = take_value(line);
    if (skipping_) return;  // said at its header
    if (!in_row_) return problem(quoted(key.text) + " stands before the first [[rule]]");
    if (!value.problem.empty()) return problem(quoted(key.text) + ": " + value.problem, value.hint);
    if (!line.is_done())
      return problem("after the value of " + quoted(key.text) + " there is more than a comment");
    store(key.text, value.text);
  }

  void store(const std::string& key, const std::string& value) {
    const auto column = parse_column(key);
    if (!column) return problem("there is no key " + quoted(key), column_hint(key));
    std::optional<Cell>& cell = rows_.rows.back()[*column];
    if (cell) return problem(std::string(to_word(*column)) + " stands twice in this rule");
    cell = Cell{value, number_};
  }

  std::uint32_t number_ = 0;
  bool in_row_ = false;
  bool skipping_ = false;
  Rows rows_;
};

}  // namespace

Rows read_toml(std::string_view text) {
  TomlReader reader;
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(text))
    reader.read_line(line, ++number);
  return std::move(reader).take();
}

}  // namespace angio::tuner
