#include "experiment/metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <regex>
#include <utility>

#include "base/text.hpp"

namespace angio::experiment {
namespace {

// Longer lines are looked at up to here: the library's matcher recurses once a character.
constexpr std::size_t kMostOfLine = 4096;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The number that text begins with; "12.5 GB/s" is 12.5.
std::optional<double> leading_number(std::string_view text, std::size_t& length) {
  double value = 0;
  const std::string_view unsigned_text = text.starts_with('+') ? text.substr(1) : text;
  const char* const begin = unsigned_text.data();
  const auto [end, error] = std::from_chars(begin, begin + unsigned_text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  length = static_cast<std::size_t>(end - text.data());
  return value;
}

bool may_begin(std::string_view text, std::size_t at) {
  const bool number =
      is_digit(text[at]) || (text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1]));
  return number && (at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '.'));
}

// A minus belongs to the number unless it joins two words ("2024-06-07", "gpt-4").
std::size_t with_sign(std::string_view text, std::size_t at) {
  if (at == 0 || text[at - 1] != '-') return at;
  return at == 1 || !is_word(text[at - 2]) ? at - 1 : at;
}

}  // namespace

struct Metric::Pattern {
  std::regex compiled;
};

Metric::Metric(MetricWish wish) : wish_(std::move(wish)) {}
Metric::Metric(Metric&&) noexcept = default;
Metric& Metric::operator=(Metric&&) noexcept = default;
Metric::~Metric() = default;

Result<Metric> Metric::make(MetricWish wish) {
  Metric metric(std::move(wish));
  if (metric.wish_.kind != MetricKind::kPattern) return metric;
  const std::string& pattern = metric.wish_.pattern;
  try {
    metric.pattern_ = std::make_unique<Pattern>(Pattern{std::regex(pattern, std::regex::ECMAScript)});
  } catch (const std::regex_error& error) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("--metric \"{}\" is no regular expression: {}", printable(pattern), error.what()),
                R"(for example --metric 'tokens/s: ([0-9.]+)')");
  }
  if (metric.pattern_->compiled.mark_count() == 0) {
    return fail(ErrorCode::kInvalidInput, fmt::format("--metric \"{}\" has no group", printable(pattern)),
                R"(put the number in parentheses, for example 'tokens/s: ([0-9.]+)')");
  }
  return metric;
}

Result<double> Metric::read(double seconds, std::string_view output) const {
  if (wish_.kind == MetricKind::kWallTime) return seconds;
  std::optional<double> found;
  if (wish_.kind == MetricKind::kLastNumber) {
    found = last_number(output);
    if (found) return *found;
    return fail(ErrorCode::kInvalidInput, "no number in the command's standard output");
  }
  bool matched = false;
  try {
    for (const std::string_view line : split_lines(output)) {
      const std::string_view part = line.substr(0, kMostOfLine);
      std::cmatch match;
      if (!std::regex_search(part.data(), part.data() + part.size(), match, pattern_->compiled)) continue;
      matched = true;
      const std::string group = match[1].str();
      std::size_t length = 0;
      if (const auto value = leading_number(trim(group), length)) found = value;
    }
  } catch (const std::regex_error& error) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("--metric \"{}\": {}", printable(wish_.pattern), error.what()));
  }
  if (found) return *found;
  return fail(ErrorCode::kInvalidInput,
              matched ? fmt::format("what \"{}\" found in the command's standard output is no number",
                                    printable(wish_.pattern))
                      : fmt::format("\"{}\" matches no line of the command's standard output",
                                    printable(wish_.pattern)));
}

std::optional<double> last_number(std::string_view text) {
  std::optional<double> last;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!may_begin(text, at)) continue;
    const std::size_t first = with_sign(text, at);
    std::size_t length = 0;
    const auto value = leading_number(text.substr(first), length);
    if (!value) continue;
    last = value;
    at = std::max(at, first + length - 1);
  }
  return last;
}

}  // namespace angio::experiment
