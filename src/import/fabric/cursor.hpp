// Walks along one line: what the parsers of fabric texts have in common. Header only: these are the inner
// loops.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace angio::import::fabric {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
inline bool is_gap(char c) {
  return c == ' ' || c == '\t';
}

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }

  void skip_gaps() {
    while (!done() && is_gap(text_[at_]))
      ++at_;
  }
  bool eat(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  // Moves behind the next `word`; stays where it is when there is none.
  bool skip_past(std::string_view word) {
    const std::size_t found = text_.find(word, at_);
    if (found == std::string_view::npos) return false;
    at_ = found + word.size();
    return true;
  }
  std::string_view take_word() {  // up to the next gap
    const std::size_t start = at_;
    while (!done() && !is_gap(text_[at_]))
      ++at_;
    return text_.substr(start, at_ - start);
  }
  std::optional<std::uint32_t> take_number() { return take<std::uint32_t>(10); }
  // With or without 0x.
  std::optional<std::uint64_t> take_hex() {
    const std::size_t start = at_;
    if (!eat("0x")) eat("0X");
    const auto value = take<std::uint64_t>(16);
    if (!value) at_ = start;
    return value;
  }

 private:
  template <typename Number>
  std::optional<Number> take(int base) {
    Number value{};
    const char* const start = text_.data() + at_;
    const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), value, base);
    if (error != std::errc{} || end == start) return std::nullopt;
    at_ += static_cast<std::size_t>(end - start);
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace angio::import::fabric
