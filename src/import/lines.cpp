#include "import/lines.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace angio::import {
namespace {

constexpr char kEscape = '\x1B';
constexpr char kBell = '\x07';
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kHardBlank = "\xC2\xA0";
// The first bytes of all that is left out, as a table: this looks at every byte of the file.
constexpr std::array<bool, 256> kTraces = [] {
  std::array<bool, 256> traces{};
  for (const char c : std::string_view("\x1B^[\b\xC2\0", 6))
    traces[static_cast<unsigned char>(c)] = true;
  return traces;
}();

std::size_t find_trace(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && !kTraces[static_cast<unsigned char>(text[i])])
    ++i;
  return i;
}

bool is_parameter(char c) {
  return (c >= '0' && c <= '9') || c == ';' || c == '?';
}

// Length of "[4m" or "[0;31m" at the start of text; 0 when it is something else.
std::size_t colour_code(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  std::size_t end = 1;
  while (end < text.size() && end < 16 && is_parameter(text[end]))
    ++end;
  return end < text.size() && text[end] == 'm' && end > 1 ? end + 1 : 0;
}

// Length of the sequence after the escape character. Never reaches over a line break.
std::size_t escape_sequence(std::string_view text) {
  if (text.empty() || text[0] == '\n') return 0;
  if (text[0] == '[') {
    std::size_t end = 1;
    while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40)
      ++end;
    return end < text.size() && text[end] != '\n' ? end + 1 : end;
  }
  if (text[0] == ']') {
    const std::size_t end = text.find_first_of(std::string_view("\x07\n", 2), 1);
    if (end == std::string_view::npos) return text.size();
    return text[end] == kBell ? end + 1 : end;
  }
  const bool charset = text[0] == '(' || text[0] == ')';
  return charset && text.size() > 1 && text[1] != '\n' ? 2 : 1;
}

// How many bytes at the start of text to leave out; 0 when the first byte stays.
std::size_t terminal_trace(std::string_view text) {
  if (text[0] == kEscape) return 1 + escape_sequence(text.substr(1));
  if (text.starts_with("^[")) {  // as `cat -v` shows it
    const std::size_t code = colour_code(text.substr(2));
    return code > 0 ? 2 + code : 0;
  }
  if (text[0] == '[') return colour_code(text);
  return text[0] == '\0' ? 1 : 0;
}

}  // namespace

std::string clean_terminal(std::string_view bytes) {
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  std::string cleaned;
  cleaned.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t plain = find_trace(bytes);
    cleaned += bytes.substr(0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) break;
    if (const std::size_t skipped = terminal_trace(bytes); skipped > 0) {
      bytes.remove_prefix(skipped);
    } else if (bytes[0] == '\b') {  // overstrike: "_\bG" is an underlined G
      if (!cleaned.empty() && cleaned.back() != '\n') cleaned.pop_back();
      bytes.remove_prefix(1);
    } else if (bytes.starts_with(kHardBlank)) {
      cleaned += ' ';
      bytes.remove_prefix(kHardBlank.size());
    } else {
      cleaned += bytes[0];
      bytes.remove_prefix(1);
    }
  }
  return cleaned;
}

std::vector<Line> number_lines(std::string_view cleaned) {
  std::vector<Line> lines;
  std::uint32_t number = 0;
  while (!cleaned.empty()) {
    const std::size_t end = std::min(cleaned.find('\n'), cleaned.size());
    std::string_view text = cleaned.substr(0, end);
    cleaned.remove_prefix(std::min(end + 1, cleaned.size()));
    if (text.ends_with('\r')) text.remove_suffix(1);
    ++number;
    if (is_blank(text)) text = {};
    const bool again = text.empty() && !lines.empty() && lines.back().text.empty();
    if (!again) lines.push_back({number, text});
  }
  return lines;
}

bool split_key_value(std::string_view text, std::string_view separator, KeyValue& result) {
  const std::size_t colon = text.find(separator);
  if (colon == std::string_view::npos) return false;
  result.key = trim(text.substr(0, colon));
  result.value = trim(text.substr(colon + separator.size()));
  return true;
}

bool is_blank(std::string_view text) {
  return trim(text).empty();
}

std::size_t indentation(std::string_view text) {
  return std::min(text.find_first_not_of(" \t"), text.size());
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace angio::import
