// Text to values: trimming, splitting, strict numbers, "did you mean".
// Strict: "12abc", "" and out-of-range are no numbers. No locale, no exceptions.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace angio {

std::string_view trim(std::string_view text);  // blanks, tabs, CR, LF and NUL at both ends
std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty parts
std::vector<std::string_view> split_words(std::string_view text);            // on runs of blanks
std::vector<std::string_view> split_lines(std::string_view text);            // without \n and \r\n
std::string to_lower(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
bool contains(std::string_view text, std::string_view part);

// The whole of text as a number in `base`; a leading 0x is allowed with base 16.
template <std::integral Number>
std::optional<Number> parse_integer(std::string_view text, int base = 10) {
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text);  // finite; "nan" and "inf" are no numbers

// "8 GiB", "512 kB", "1024": kB/MB/GB as the kernel and lscpu mean them here, powers of 1024.
std::optional<unsigned long long> parse_byte_count(std::string_view text);

// The candidate nearest to word by edit distance, if near enough to be a likely typing error.
std::optional<std::string> did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

// Text safe to print: control characters, invalid UTF-8 and terminal escapes become \xNN.
std::string printable(std::string_view text);

}  // namespace angio
