#include "import/fabric/scan_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/text.hpp"

namespace angio::import::fabric {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// A form, digit for digit: 0 stands for a digit.
bool has_form(std::string_view text, std::string_view form) {
  return std::ranges::equal(
      text, form, [](char c, char wanted) { return wanted == '0' ? c >= '0' && c <= '9' : c == wanted; });
}

}  // namespace

std::optional<ScanTime> parse_scan_time(std::string_view text) {
  text = trim(text);
  if (has_form(text, "0000-00-00T00:00:00Z")) return ScanTime{std::string(text), true};
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() < 5 || !has_form(words[3], "00:00:00")) return std::nullopt;
  const auto* const month = std::ranges::find(kMonths, words[1]);
  const auto day = parse_integer<std::uint32_t>(words[2]);
  const auto year = parse_integer<std::uint32_t>(words[4]);
  if (month == kMonths.end() || !day || *day < 1 || *day > 31 || !year || *year < 1990 || *year > 9999)
    return std::nullopt;
  return ScanTime{fmt::format("{:04}-{:02}-{:02}T{}Z", *year, month - kMonths.begin() + 1, *day, words[3]),
                  false};
}

}  // namespace angio::import::fabric
