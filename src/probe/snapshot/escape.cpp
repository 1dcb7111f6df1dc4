#include "probe/snapshot/escape.hpp"

#include "base/text.hpp"

namespace angio::probe::snapshot {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte of two hexadecimal digits; -1 when they are none.
int byte_of(char high, char low) {
  const int upper = digit_value(high);
  const int lower = digit_value(low);
  return upper < 0 || lower < 0 ? -1 : upper * 16 + lower;
}

}  // namespace

void append_escaped(std::string& out, std::string_view text, bool keep_blanks) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool breaks = byte < 0x20 || byte == 0x7F || byte == '\\' || (byte == ' ' && !keep_blanks);
    if (!breaks) {
      out += c;
      continue;
    }
    out += "\\x";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
}

std::optional<std::string> unescape(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t mark = std::min(text.find('\\'), text.size());
    plain.append(text.substr(0, mark));
    text.remove_prefix(mark);
    if (text.empty()) break;
    const int byte = text.size() >= 4 && text[1] == 'x' ? byte_of(text[2], text[3]) : -1;
    if (byte < 0) return std::nullopt;
    plain += static_cast<char>(byte);
    text.remove_prefix(4);
  }
  return plain;
}

void append_hex(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
}

std::optional<std::string> parse_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes(text.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int byte = byte_of(text[2 * i], text[2 * i + 1]);
    if (byte < 0) return std::nullopt;
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

bool is_plain(std::string_view text) {
  bool ascii = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7F) return false;
    if (byte >= 0x80) ascii = false;
  }
  if (ascii) return true;
  for (const std::string_view part : split(text, '\t')) {
    if (printable(part).size() != part.size()) return false;  // it only ever grows what it changes
  }
  return true;
}

}  // namespace angio::probe::snapshot
