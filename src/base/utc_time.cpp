#include "base/utc_time.hpp"

#include <chrono>

#include "base/text.hpp"

namespace angio {

std::optional<std::int64_t> parse_utc(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";  // RFC 3339
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t at = 0; at < kForm.size(); ++at) {
    const bool digit = text[at] >= '0' && text[at] <= '9';
    if (kForm[at] == '0' ? !digit : text[at] != kForm[at]) return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t length) {
    return parse_integer<std::uint32_t>(text.substr(at, length)).value_or(0);
  };
  const std::uint32_t hour = part(11, 2), minute = part(14, 2), second = part(17, 2);
  constexpr std::uint32_t kLeapSecond = 60;
  if (hour > 23 || minute > 59 || second > kLeapSecond) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(part(0, 4))},
                                         std::chrono::month{part(5, 2)}, std::chrono::day{part(8, 2)}};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days{date}.time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(days).count() + hour * 3600LL + minute * 60LL +
         second;
}

}  // namespace angio
