#include "lint/readers/shell_words.hpp"

#include <algorithm>

namespace angio::lint::readers {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_meta(char c) {
  return is_blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' || c == '<' ||
         c == '>';
}

Decoded ShellWords::at(std::size_t position) const {
  const Decoded c = decode(text_, position, range_.end, range_.escapes);
  if (c.character != '\n' || !range_.folded) return c;
  // A folded block joins lines; an empty line stays a line end.
  std::size_t next = position + c.length;
  while (next < range_.end && is_blank(text_[next]))
    ++next;
  return next < range_.end && text_[next] != '\n' ? Decoded{' ', c.length} : c;
}

bool ShellWords::at_continuation() const {
  return peek(position_) == '\\' && position_ + at(position_).length < range_.end &&
         peek(after(position_)) == '\n';
}

void ShellWords::skip_blanks() {
  while (!at_end()) {
    if (is_blank(peek(position_))) {
      advance();
    } else if (at_continuation()) {
      advance();
      advance();
      if (range_.dockerfile) {
        while (!at_end()) {  // Docker takes comment lines and empty lines out of a continued line
          const std::size_t first = std::min(text_.find_first_not_of(" \t\r", position_), range_.end);
          if (first >= range_.end || (text_[first] != '#' && text_[first] != '\n')) break;
          position_ = std::min(source_.line_end(first) + 1, range_.end);
        }
      }
    } else {
      return;
    }
  }
}

void ShellWords::skip_to_line_end() {
  while (!at_end() && peek(position_) != '\n')
    advance();
}

void ShellWords::append(RawWord& word, bool plain) {
  const Decoded c = at(position_);
  if (word.name_begin == kNone) word.name_begin = position_;
  if (c.character == '=' && word.equals == kNone) {
    word.equals = position_;
    word.equals_text = word.word.text.size();
    word.plain_name = word.plain_name && plain;
  } else if (!plain && word.equals == kNone) {
    word.plain_name = false;
  }
  word.word.text += c.character;
  position_ += c.length;
  word.value_end = position_;
}

void ShellWords::append_raw(RawWord& word, std::size_t begin, std::size_t end) {
  if (word.name_begin == kNone) word.name_begin = begin;
  if (word.equals == kNone) word.plain_name = false;
  word.word.text += text_.substr(begin, end - begin);
  word.word.dynamic = true;
  position_ = end;
  word.value_end = end;
}

void ShellWords::step_group(std::vector<char>& open, std::size_t& position) {
  const char mode = open.back();
  const char c = peek(position);
  const std::size_t next = after(position);
  const auto push = [&](char kind) { open.push_back(kind); };
  if (mode == '\'') {
    if (c == '\'') open.pop_back();
  } else if (c == '\\') {
    position = next < range_.end ? after(next) : next;
    return;
  } else if ((mode == '(' && c == ')') || (mode == '{' && c == '}') ||
             (mode == c && (c == '"' || c == '`'))) {
    open.pop_back();
  } else if (c == '$' && next < range_.end && (peek(next) == '(' || peek(next) == '{')) {
    push(peek(next));
    position = after(next);
    return;
  } else if (c == '`' && mode != '`') {
    push('`');
  } else if (c == '"' && mode != '`') {
    push('"');
  } else if (mode != '"' && mode != '`' && c == '\'') {
    push('\'');
  } else if (mode == '(' && c == '(') {
    push('(');
  } else if (mode == '(' && c == '#' && position > 0 &&
             (is_blank(text_[position - 1]) || text_[position - 1] == '\n')) {
    position = std::min(source_.line_end(position), range_.end);
    return;
  }
  position = next;
}

std::optional<std::size_t> ShellWords::group_end(std::size_t position, char kind) {
  const std::size_t start = position;
  const std::size_t limit = unclosed_ ? std::min(source_.line_end(position), range_.end) : range_.end;
  std::vector<char> open{kind};
  while (position < limit) {
    const std::size_t before = position;
    step_group(open, position);
    if (open.empty()) return before;
  }
  if (!unclosed_) {
    const std::string_view what = kind == '"' || kind == '\'' ? "quote never closed"
                                  : kind == '`'               ? "backtick never closed"
                                                              : "bracket never closed";
    source_.note(start, what);
  }
  unclosed_ = true;
  return std::nullopt;
}

void ShellWords::skip_group(char kind, std::size_t opening_length) {
  const auto end = group_end(std::min(position_ + opening_length, range_.end), kind);
  position_ = end ? after(*end) : std::min(source_.line_end(position_), range_.end);
}

void ShellWords::read_quoted(RawWord& word, char quote) {
  word.quoted = true;
  if (word.equals == kNone) word.plain_name = false;
  const bool whole_value = word.equals != kNone;
  const std::size_t opening = position_;
  const auto end = group_end(after(position_), quote);
  const std::size_t stop = end.value_or(std::min(source_.line_end(position_), range_.end));
  advance();
  while (position_ < stop) {
    const char c = peek(position_);
    if (quote == '"' && c == '\\' && after(position_) < stop) {
      const char next = peek(after(position_));
      if (next == '\n') {
        advance();
        advance();
        continue;
      }
      if (next == '"' || next == '$' || next == '`' || next == '\\') advance();
      append(word, false);
    } else if (quote == '"' && (c == '$' || c == '`')) {
      read_dollar(word);
    } else {
      append(word, false);
    }
  }
  position_ = std::max(position_, stop);
  if (end) advance();
  if (word.name_begin == kNone) word.name_begin = opening;
  if (whole_value || word.equals == kNone) word.value_end = position_;
}

// $'…': escapes as in C; other than \n, \t, quotes and backslashes they are kept as written.
void ShellWords::read_ansi(RawWord& word) {
  advance();
  word.quoted = true;
  advance();
  while (!at_end() && peek(position_) != '\'' && peek(position_) != '\n') {
    if (peek(position_) == '\\' && after(position_) < range_.end) {
      advance();
      const char c = peek(position_);
      if (c == 'n' || c == 't') {
        word.word.text += c == 'n' ? '\n' : '\t';
        advance();
        continue;
      }
      if (c != '\'' && c != '"' && c != '\\') word.word.text += '\\';
    }
    append(word, false);
  }
  if (peek(position_) == '\'' && !at_end()) advance();
  if (word.name_begin == kNone) word.name_begin = position_;
  word.value_end = position_;
}

void ShellWords::read_dollar(RawWord& word) {
  const std::size_t begin = position_;
  const char c = peek(position_);
  const std::size_t next = after(position_);
  const char following = peek(next);
  if (c == '`' || following == '(' || following == '{') {
    const std::size_t inside = c == '`' ? next : after(next);
    const auto end = group_end(inside, c == '`' ? '`' : following);
    const std::size_t stop = end ? after(*end) : std::min(source_.line_end(begin), range_.end);
    const bool arithmetic = following == '(' && peek(inside) == '(';
    if (c == '`' || (following == '(' && !arithmetic)) {
      Range inner = range_;
      inner.begin = inside;
      inner.end = end.value_or(stop);
      source_.queue(inner);
    }
    append_raw(word, begin, stop);
    return;
  }
  std::size_t end = next;
  while (end < range_.end && (is_name(text_.substr(end, 1)) || (text_[end] >= '0' && text_[end] <= '9')))
    ++end;
  if (end == next && next < range_.end &&
      std::string_view("@*#?$!-").find(following) != std::string_view::npos) {
    end = after(next);
  }
  if (end == next) {
    append(word, true);
    return;
  }
  append_raw(word, begin, end);
}

bool ShellWords::stops_at_backslash() const {
  std::size_t next = after(position_);
  if (next >= range_.end || !is_blank(peek(next))) return false;
  while (next < range_.end && is_blank(peek(next)))
    next = after(next);
  return next >= range_.end || peek(next) == '\n' || peek(next) == '#';
}

void ShellWords::read_backslash(RawWord& word) {
  advance();
  if (at_end()) return;
  word.quoted = true;
  append(word, false);
}

RawWord ShellWords::read_word() {
  RawWord word;
  const std::size_t begin = position_;
  while (!at_end()) {
    const char c = peek(position_);
    if (c == '(' && word.equals != kNone && word.value_end == word.equals + 1 && !word.quoted) {  // NAME=(…)
      const std::size_t opening = position_;
      skip_group('(', 1);
      append_raw(word, opening, position_);
    } else if (is_meta(c)) {
      break;
    } else if (c == '\\' && at_continuation()) {
      advance();
      advance();
    } else if (c == '\\' && stops_at_backslash()) {
      backslash_blank_ = true;
      break;
    } else if (c == '\\') {
      read_backslash(word);
    } else if (c == '\'' || c == '"') {
      read_quoted(word, c);
    } else if (c == '$' && peek(after(position_)) == '\'') {
      read_ansi(word);
    } else if (c == '$' && peek(after(position_)) == '"') {
      advance();
    } else if (c == '$' || c == '`') {
      read_dollar(word);
    } else {
      append(word, true);
    }
  }
  word.word.place = source_.place(begin, position_ - begin);
  if (word.name_begin == kNone) word.name_begin = begin;
  if (word.value_end == kNone || word.value_end < word.name_begin) word.value_end = position_;
  return word;
}

}  // namespace angio::lint::readers
