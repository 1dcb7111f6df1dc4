#include "duration_option.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"

namespace angio::app {

Result<double> parse_duration(std::string_view text, std::string_view what) {
  struct Unit {
    const char* word;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"", 1},     {"s", 1},    {"ms", 0.001}, {"m", 60},
                             {"min", 60}, {"h", 3600}, {"d", 86400},  {"w", 604800}};
  const std::string_view whole = trim(text);
  const std::size_t end = std::min(whole.find_first_not_of("0123456789."), whole.size());
  const auto number = parse_double(whole.substr(0, end));
  const std::string_view word = trim(whole.substr(end));
  for (const Unit& unit : kUnits)
    if (number && *number > 0 && word == unit.word) return *number * unit.seconds;
  return fail(ErrorCode::kInvalidInput,
              std::string(what) + ": \"" + printable(text) + "\" is no length of time",
              "Give a number and a unit: 10s, 500ms, 2m, 1h, 30d");
}

}  // namespace angio::app
