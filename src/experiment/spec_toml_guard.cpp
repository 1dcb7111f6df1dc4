#include "experiment/spec_toml_guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.hpp"

namespace angio::experiment {
namespace {

constexpr std::size_t kMostNesting = 16;
constexpr std::size_t kMostWord = 200;  // a number, a date, a key without quotes
constexpr std::size_t kMostDots = 8;    // in one word

// The first line with bytes that stand in no text.
std::optional<TomlObjection> find_bytes(std::string_view text) {
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    std::string without_tabs(line);
    std::ranges::replace(without_tabs, '\t', ' ');
    if (printable(without_tabs) != without_tabs)
      return TomlObjection{number, "a control character, or bytes that are no UTF-8"};
  }
  return std::nullopt;
}

// Walks over the text with an eye for strings, comments, brackets and what may stand side by side.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  std::optional<TomlObjection> find() {
    while (at_ < text_.size() && words_.empty())
      step(text_[at_]);
    if (words_.empty() && !open_.empty()) words_ = "a bracket is not closed";
    if (words_.empty()) return std::nullopt;
    return TomlObjection{line_, words_};
  }

 private:
  void step(char c) {
    if (c == '#') return skip_comment();
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '\n') {
      ++line_;
      may_begin_ = true;
      if (open_.empty()) last_ = c;
      ++at_;
      return;
    }
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
      return;
    }
    mark(c);
    if (words_.empty()) ++at_;
  }

  void mark(char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_word(c)) {
      skip_word();
      return;
    }
    may_begin_ = c != ']' && c != '}';
    last_ = c;
    if (byte >= 0x80 || byte < 0x20 || byte == 0x7f) {
      words_ = fmt::format("byte 0x{:02x} outside of quotes", byte);
    } else if (c == '[' || c == '{') {
      open(c);
    } else if (c == ']' || c == '}') {
      close(c);
    } else if (c == '=' && !open_.empty() && open_.back() == '[') {
      words_ = "\"=\" within \"[ ]\"";
    } else if (c != '=' && c != ',') {
      words_ = fmt::format("\"{}\" outside of quotes", c);
    }
  }

  void open(char c) {
    if (open_.size() == kMostNesting) {
      words_ = fmt::format("more than {} brackets within each other", kMostNesting);
      return;
    }
    open_ += c;
  }

  void close(char c) {
    if (open_.empty() || open_.back() != (c == ']' ? '[' : '{')) {
      words_ = fmt::format("\"{}\" closes nothing", c);
      return;
    }
    open_.pop_back();
  }

  static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '+' || c == '.' || c == ':';
  }

  // Blanks around dots belong to it: "a . b" is one key of two parts.
  void skip_word() {
    if (!may_begin_ && text_[at_] != '.') words_ = "a word right behind something else";
    const std::size_t begin = at_;
    std::size_t dots = 0;
    std::size_t end = at_;
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == ' ' || text_[end] == '\t')) {
      if (text_[end] == '.') ++dots;
      ++end;
    }
    if (end - begin > kMostWord) words_ = fmt::format("a word of more than {} characters", kMostWord);
    if (dots > kMostDots) words_ = fmt::format("a word with more than {} dots", kMostDots);
    may_begin_ = trim(text_.substr(begin, end - begin)).ends_with('.');
    if (words_.empty()) at_ = end - 1;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n')
      ++at_;
  }

  void skip_string(char quote) {
    if (!may_begin_) words_ = "quotes right behind something else";
    if (text_.substr(at_).starts_with(std::string(3, quote)) && !contains("=[,", std::string_view(&last_, 1)))
      words_ = "three quotes where no value stands";
    may_begin_ = false;
    const std::string three(3, quote);
    const bool several = text_.substr(at_).starts_with(three);
    const std::string_view end = several ? std::string_view(three) : std::string_view(three).substr(2);
    at_ += end.size();
    while (at_ < text_.size() && !text_.substr(at_).starts_with(end)) {
      if (text_[at_] == '\n') {
        if (!several) {
          words_ = "the quotes are not closed on their line";
          return;
        }
        ++line_;
      }
      at_ += quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n' ? 2U : 1U;
    }
    if (at_ >= text_.size() && words_.empty()) words_ = "the quotes are not closed";
    if (!words_.empty()) return;
    at_ += end.size();
    while (several && at_ < text_.size() && text_[at_] == quote)  // """a""""" ends in two that belong to it
      ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  char last_ = '\n';       // that is neither blank nor part of a word or string
  bool may_begin_ = true;  // a value or a key
  std::string open_;
  std::string words_;
};

}  // namespace

std::optional<TomlObjection> find_toml_objection(std::string_view text) {
  if (auto bytes = find_bytes(text)) return bytes;
  return Walk(text).find();
}

}  // namespace angio::experiment
