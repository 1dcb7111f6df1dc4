#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>

namespace angio {
namespace {

constexpr std::string_view kBlanks{" \t\r\n\0", 5};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, above + 1, diagonal + (a[i] == b[j] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row.back();
}

// Length of the valid UTF-8 sequence at the start of text; 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80              ? 1
                             : (lead & 0xE0U) == 0xC0 ? 2
                             : (lead & 0xF0U) == 0xE0 ? 3
                             : (lead & 0xF8U) == 0xF0 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const bool overlong = (length == 2 && lead < 0xC2) || (length == 3 && lead == 0xE0 && byte(1) < 0xA0) ||
                        (length == 4 && (lead > 0xF4 || (lead == 0xF0 && byte(1) < 0x90)));
  const bool c1_control = length == 2 && lead == 0xC2 && byte(1) < 0xA0;  // CSI and friends
  return overlong || c1_control ? 0 : length;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return {};
  std::vector<std::string_view> lines = split(text, '\n');
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return lines;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(c < 0x80 ? std::tolower(c) : c); });
  return lower;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != parts.data()) joined += separator;
    joined += part;
  }
  return joined;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<double> parse_double(std::string_view text) {
  double value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<unsigned long long> parse_byte_count(std::string_view text) {
  text = trim(text);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = parse_integer<unsigned long long>(text.substr(0, digits));
  std::string unit = to_lower(trim(text.substr(digits)));
  if (unit.ends_with("ib")) unit.erase(unit.size() - 2);
  if (unit.ends_with('b')) unit.pop_back();
  constexpr std::array<std::string_view, 5> kPrefixes{"", "k", "m", "g", "t"};
  const auto prefix = std::ranges::find(kPrefixes, unit);
  if (!count || prefix == kPrefixes.end()) return std::nullopt;
  const auto shift = static_cast<unsigned>(10 * (prefix - kPrefixes.begin()));
  if (*count > (~0ULL >> shift)) return std::nullopt;
  return *count << shift;
}

std::optional<std::string> did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::size_t tolerated = std::max<std::size_t>(1, word.size() / 3);
  std::size_t best = tolerated + 1;
  std::optional<std::string> nearest;
  for (const std::string_view candidate : candidates) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    if (longer - shorter > tolerated) continue;
    const std::size_t distance = edit_distance(to_lower(word), to_lower(candidate));
    if (distance < best) {
      best = distance;
      nearest = std::string(candidate);
    }
  }
  return nearest;
}

std::string printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t length = c < 0x20 || c == 0x7F ? 0 : utf8_length(text);
    if (length > 0) {
      safe += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    safe += "\\x";
    safe += kHex[c >> 4U];
    safe += kHex[c & 15U];
    text.remove_prefix(1);
  }
  return safe;
}

}  // namespace angio
