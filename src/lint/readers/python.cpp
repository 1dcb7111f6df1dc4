// Python: what sets the environment (os.environ, putenv, env dictionaries, %env) and strings that a shell
// reads (os.system, subprocess). Tokens only, no grammar; a value that is no plain literal is not known.
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "lint/readers/source.hpp"

namespace angio::lint::readers {
namespace {

enum class Kind : std::uint8_t { kName, kString, kNumber, kOperator, kLineEnd };

struct Token {
  Kind kind = Kind::kOperator;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t inner_begin = 0;  // of a string, without prefix and quotes
  std::size_t inner_end = 0;
  bool formatted = false;  // f"…"
  bool raw = false;        // r"…"
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Tokens {
 public:
  Tokens(Source& source, std::string_view text) : source_(source), text_(text) {}
  std::vector<Token> all();

 private:
  std::size_t string_prefix(std::size_t position) const;
  Token string_token(std::size_t begin, std::size_t prefix);
  std::size_t magic(std::size_t position);

  Source& source_;
  std::string_view text_;
  bool unclosed_ = false;
};

// The length of r, b, f, u and pairs of them in front of a quote; npos when no string begins here.
std::size_t Tokens::string_prefix(std::size_t position) const {
  for (std::size_t length = 0; length <= 2 && position + length < text_.size(); ++length) {
    const char c = text_[position + length];
    if (c == '"' || c == '\'') return length;
    if (std::string_view("rRbBfFuU").find(c) == std::string_view::npos) return kNone;
  }
  return kNone;
}

Token Tokens::string_token(std::size_t begin, std::size_t prefix) {
  Token token{Kind::kString, begin, begin, 0, 0, false, false};
  for (const char c : text_.substr(begin, prefix)) {
    token.formatted = token.formatted || c == 'f' || c == 'F';
    token.raw = token.raw || c == 'r' || c == 'R';
  }
  const std::size_t opening = begin + prefix;
  const char quote = text_[opening];
  const std::string_view three = text_.substr(opening, 3);
  const bool triple = three.size() == 3 && three[1] == quote && three[2] == quote;
  token.inner_begin = opening + (triple ? 3 : 1);
  const std::size_t limit = triple && !unclosed_ ? text_.size() : source_.line_end(opening);
  std::size_t i = token.inner_begin;
  for (; i < limit; ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == quote && (!triple || text_.substr(i, 3) == three)) {
      token.inner_end = i;
      token.end = i + (triple ? 3 : 1);
      return token;
    }
  }
  source_.note(begin, "string never closed");
  if (triple) unclosed_ = true;
  token.inner_end = std::min(std::max(source_.line_end(opening), token.inner_begin), text_.size());
  token.inner_begin = std::min(token.inner_begin, token.inner_end);
  token.end = token.inner_end;
  return token;
}

// Notebook lines: %env NAME=value, %env NAME value, %set_env NAME=value, !command.
std::size_t Tokens::magic(std::size_t position) {
  const std::size_t end = source_.line_end(position);
  if (text_[position] == '!') {
    Range range;
    range.begin = position + 1;
    range.end = end;
    source_.queue(range);
    return end;
  }
  std::size_t name = std::min(text_.find_first_of(" \t\n", position), end);
  const std::string_view word = text_.substr(position, name - position);
  if (word != "%env" && word != "%set_env") return end;
  while (name < end && (text_[name] == ' ' || text_[name] == '\t'))
    ++name;
  const std::size_t stop = std::min(text_.substr(0, end).find_first_of("= \t", name), end);
  const std::string_view name_text = text_.substr(name, stop - name);
  if (stop >= end || !is_name(name_text)) return end;
  const std::string_view value = trim(text_.substr(stop + 1, end - stop - 1));
  const std::size_t begin = value.empty() ? end : static_cast<std::size_t>(value.data() - text_.data());
  Setting setting;
  setting.name = name_text;
  setting.value = value;
  setting.dynamic = value.find_first_of("${") != std::string_view::npos;
  setting.via = "%env";
  setting.name_place = source_.place(name, name_text.size());
  setting.value_place = source_.place(begin, value.size());
  setting.statement_place = source_.whole_line(position);
  source_.add(std::move(setting));
  return end;
}

std::vector<Token> Tokens::all() {
  std::vector<Token> tokens;
  bool line_start = true;
  for (std::size_t i = source_.text_begin(); i < text_.size();) {
    const char c = text_[i];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
      continue;
    }
    if (c == '\n') {
      tokens.push_back({Kind::kLineEnd, i, i + 1, 0, 0, false, false});
      line_start = true;
      ++i;
      continue;
    }
    const bool first = line_start;
    line_start = false;
    if (c == '#') {
      i = source_.line_end(i);
    } else if (first && (c == '%' || c == '!')) {
      i = magic(i);
    } else if (const std::size_t prefix = string_prefix(i); prefix != kNone) {
      tokens.push_back(string_token(i, prefix));
      i = std::max(tokens.back().end, i + 1);
    } else if (is_letter(c) || is_digit(c)) {
      std::size_t end = i;
      while (end < text_.size() &&
             (is_letter(text_[end]) || is_digit(text_[end]) || (is_digit(c) && text_[end] == '.')))
        ++end;
      tokens.push_back({is_letter(c) ? Kind::kName : Kind::kNumber, i, end, 0, 0, false, false});
      i = end;
    } else {
      tokens.push_back({Kind::kOperator, i, i + 1, 0, 0, false, false});
      ++i;
    }
  }
  return tokens;
}

class Reader {
 public:
  explicit Reader(Source& source)
      : source_(source), text_(source.text()), tokens_(Tokens(source, source.text()).all()) {
    match_brackets();
  }
  void run();

 private:
  std::string_view text(std::size_t i) const {
    return i < tokens_.size() ? text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin)
                              : std::string_view();
  }
  bool is(std::size_t i, std::string_view word) const { return text(i) == word; }
  bool is_string(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == Kind::kString; }
  std::string_view inner(std::size_t i) const {
    return text_.substr(tokens_[i].inner_begin, tokens_[i].inner_end - tokens_[i].inner_begin);
  }
  void match_brackets();
  std::size_t skip_lines(std::size_t i) const;
  std::size_t expression_end(std::size_t i) const;
  Setting setting(std::size_t name, std::string_view via) const;
  void add(std::size_t name, std::size_t value, std::string_view via, std::size_t statement);
  void add_unset(std::size_t name, std::string_view via);
  std::size_t environment(std::size_t i, std::size_t object);
  std::size_t subscript(std::size_t i, std::size_t object);
  std::size_t call(std::size_t i, std::string_view method, std::size_t object);
  void dictionary(std::size_t i, std::string_view via);
  void keywords(std::size_t i, std::string_view via);
  void command(std::size_t i);
  Escapes escapes(std::size_t i) const { return tokens_[i].raw ? Escapes::kPlain : Escapes::kCString; }

  Source& source_;
  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> closing_;  // of each opening bracket; the number of tokens when it never closes
};

void Reader::match_brackets() {
  closing_.assign(tokens_.size(), tokens_.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].kind != Kind::kOperator) continue;
    const char c = text_[tokens_[i].begin];
    if (c == '(' || c == '[' || c == '{') open.push_back(i);
    if ((c == ')' || c == ']' || c == '}') && !open.empty()) {
      closing_[open.back()] = i;
      open.pop_back();
    }
  }
}

std::size_t Reader::skip_lines(std::size_t i) const {
  while (i < tokens_.size() && tokens_[i].kind == Kind::kLineEnd)
    ++i;
  return i;
}

// One behind the last token of the expression that begins at i: to , ) ] } or the line's end at its depth.
// Longer ones than people write are cut: a hostile line must not cost its square.
std::size_t Reader::expression_end(std::size_t i) const {
  constexpr std::size_t kLongest = 256;
  for (std::size_t count = 0; i < tokens_.size() && count < kLongest; ++count, ++i) {
    if (tokens_[i].kind == Kind::kLineEnd) return i;
    if (tokens_[i].kind != Kind::kOperator) continue;
    const char c = text_[tokens_[i].begin];
    if (c == '(' || c == '[' || c == '{') i = std::min(closing_[i], tokens_.size() - 1);
    if ((c == ')' || c == ']' || c == '}') || c == ',' || c == ';') return i;
  }
  return std::min(i, tokens_.size());
}

Setting Reader::setting(std::size_t name, std::string_view via) const {
  const Token& token = tokens_[name];
  Setting setting;
  const bool string = token.kind == Kind::kString;
  setting.name = string ? inner(name) : text(name);
  setting.via = std::string(via);
  const std::size_t begin = string ? token.inner_begin : token.begin;
  setting.name_place = source_.place(begin, setting.name.size());
  setting.statement_place = source_.place(token.begin, 0);
  return setting;
}

// The literal at value: a string, str(1), a number; anything else is not known.
void Reader::add(std::size_t name, std::size_t value, std::string_view via, std::size_t statement) {
  Setting result = setting(name, via);
  if (!is_name(result.name)) return;
  value = skip_lines(value);
  if (is(value, "{") || is(value, "[")) return;  // no value of a variable
  const std::size_t end = expression_end(value);
  std::size_t literal = value;
  std::size_t literal_end = end;
  if (is(value, "str") && is(value + 1, "(") && end == value + 4) {
    literal = value + 2;
    literal_end = value + 3;
  }
  result.dynamic = true;
  if (literal < end && literal_end == literal + 1) {
    const Token& token = tokens_[literal];
    if (token.kind == Kind::kString) {
      result.value = make_word(source_, token.inner_begin, token.inner_end, escapes(literal)).word.text;
      result.dynamic = token.formatted && result.value.find('{') != std::string::npos;
    } else if (token.kind == Kind::kNumber) {
      result.value = text(literal);
      result.dynamic = false;
    }
  }
  const std::size_t begin = value < tokens_.size() ? tokens_[value].begin : text_.size();
  const std::size_t stop = end > value ? tokens_[end - 1].end : begin;
  result.value_place = source_.place(begin, stop - begin);
  if (result.dynamic && result.value.empty()) result.value = text_.substr(begin, stop - begin);
  // Alone on an unindented line: taking it away leaves no empty block.
  const bool line_ends = end >= tokens_.size() || tokens_[end].kind == Kind::kLineEnd;
  if (statement != kNone && line_ends &&
      source_.line_begin(tokens_[statement].begin) == tokens_[statement].begin &&
      source_.line_begin(stop) == tokens_[statement].begin) {
    result.statement_place = source_.whole_line(tokens_[statement].begin);
  }
  source_.add(std::move(result));
}

void Reader::add_unset(std::size_t name, std::string_view via) {
  Setting result = setting(name, via);
  result.unset = true;
  result.value_place = source_.place(tokens_[name].end, 0);
  if (is_name(result.name)) source_.add(std::move(result));
}

// {"NAME": value, …}; i is the brace.
void Reader::dictionary(std::size_t i, std::string_view via) {
  for (i = skip_lines(i + 1); i < tokens_.size() && !is(i, "}");) {
    if (is_string(i) && is(i + 1, ":")) add(i, i + 2, via, kNone);
    std::size_t end = i;
    while (true) {  // to the comma of this depth
      end = expression_end(end);
      if (end >= tokens_.size() || tokens_[end].kind != Kind::kLineEnd) break;
      end = skip_lines(end);
    }
    if (end >= tokens_.size() || !is(end, ",")) return;
    i = skip_lines(end + 1);
  }
}

// NAME=value, …; i is behind the bracket.
void Reader::keywords(std::size_t i, std::string_view via) {
  for (i = skip_lines(i); i < tokens_.size() && !is(i, ")");) {
    if (is(i, "{")) dictionary(i, via);
    if (tokens_[i].kind == Kind::kName && is(i + 1, "=") && is_variable_like(text(i)))
      add(i, i + 2, via, kNone);
    std::size_t end = i;
    while (true) {
      end = expression_end(end);
      if (end >= tokens_.size() || tokens_[end].kind != Kind::kLineEnd) break;
      end = skip_lines(end);
    }
    if (end >= tokens_.size() || !is(end, ",")) return;
    i = skip_lines(end + 1);
  }
}

// os.environ["NAME"] = value; i is the bracket.
std::size_t Reader::subscript(std::size_t i, std::size_t object) {
  if (!is_string(i + 1) || !is(i + 2, "]")) return i;
  if (object > 0 && is(object - 1, "del")) {
    add_unset(i + 1, "del os.environ");
  } else if (is(i + 3, "=") && !is(i + 4, "=")) {
    add(i + 1, i + 4, "os.environ", object);
  }
  return i + 2;
}

std::size_t Reader::call(std::size_t i, std::string_view method, std::size_t object) {
  if (method == "setdefault" && is_string(skip_lines(i)) && is(skip_lines(i) + 1, ",")) {
    add(skip_lines(i), skip_lines(i) + 2, "os.environ.setdefault", object);
  } else if (method == "update") {
    keywords(i, "os.environ.update");
  } else if (method == "pop" && is_string(i)) {
    add_unset(i, "os.environ.pop");
  }
  return i;
}

// Behind an object that holds an environment: .method( or [ or = {.
std::size_t Reader::environment(std::size_t i, std::size_t object) {
  if (is(i, "[")) return subscript(i, object);
  if (is(i, ".") && is(i + 2, "(")) return call(i + 3, text(i + 1), object);
  std::size_t value = i;
  if (is(value, "|")) ++value;
  if (is(value, "=") && is(skip_lines(value + 1), "{")) dictionary(skip_lines(value + 1), "env dictionary");
  if (is(value, "=") && is(value + 1, "dict") && is(value + 2, "(")) keywords(value + 3, "env dictionary");
  return i > 0 ? i - 1 : i;
}

// os.system("…"), subprocess.run("…" or ["…", …]); i is behind the bracket.
void Reader::command(std::size_t i) {
  i = skip_lines(i);
  if (is_string(i)) {
    Range range;
    range.begin = tokens_[i].inner_begin;
    range.end = tokens_[i].inner_end;
    range.escapes = escapes(i);
    source_.queue(range);
    return;
  }
  if (!is(i, "[")) return;
  std::vector<RawWord> words;
  for (i = skip_lines(i + 1); i < tokens_.size() && !is(i, "]"); i = skip_lines(i)) {
    const std::size_t end = expression_end(i);
    const bool literal = is_string(i) && end == i + 1;
    RawWord word = literal ? make_word(source_, tokens_[i].inner_begin, tokens_[i].inner_end, escapes(i))
                           : make_word(source_, tokens_[i].begin,
                                       end > i ? tokens_[end - 1].end : tokens_[i].end, Escapes::kPlain);
    word.word.dynamic = !literal || tokens_[i].formatted;
    words.push_back(std::move(word));
    if (!is(end, ",")) break;
    i = end + 1;
  }
  add_argument_list(source_, std::move(words), {});
}

void Reader::run() {
  constexpr std::array<std::string_view, 8> kRunning{"system",       "run",   "call",      "check_call",
                                                     "check_output", "Popen", "getoutput", "popen"};
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    const std::string_view word = token.kind == Kind::kString ? inner(i) : text(i);
    if (token.kind == Kind::kName) {
      const bool member = i > 0 && is(i - 1, ".");
      if (word == "environ") {
        const std::size_t object = member && i > 1 ? i - 2 : i;
        i = std::max(environment(i + 1, object), i);
      } else if ((word == "putenv" || word == "setenv") && is(i + 1, "(") && is_string(i + 2) &&
                 is(i + 3, ",")) {
        add(i + 2, i + 4, word == "putenv" ? "os.putenv" : "setenv", member && i > 1 ? i - 2 : i);
      } else if (member && is(i + 1, "(") && std::ranges::find(kRunning, word) != kRunning.end() && i > 1 &&
                 (is(i - 2, "os") || is(i - 2, "subprocess") || is(i - 2, "sp"))) {
        command(i + 2);
      } else if (word.find("env") != std::string_view::npos || word.find("ENV") != std::string_view::npos) {
        if (is(i + 1, "[") || is(i + 1, "=") || (is(i + 1, ".") && is(i + 2, "update")))
          i = std::max(environment(i + 1, i), i);
      }
    } else if (token.kind == Kind::kString && is(i + 1, ":") && is(i + 2, "{") &&
               word.find("env") != std::string_view::npos) {
      dictionary(i + 2, "env dictionary");
    }
  }
}

}  // namespace

void read_python(Source& source) {
  Reader(source).run();
}

}  // namespace angio::lint::readers
