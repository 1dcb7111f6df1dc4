#include "import/smi_query/field.hpp"

#include <fmt/format.h>

#include <map>

namespace angio::import::smi_query {
namespace {

template <typename Unit>
std::optional<Unit> scaled(std::string_view value, std::string_view unit, double factor) {
  const auto number = without_unit(value, unit);
  const auto amount = number ? parse_double(*number) : std::nullopt;
  if (!amount) return std::nullopt;
  return Unit{*amount * factor};
}

}  // namespace

std::optional<model::Reason> missing(std::string_view value) {
  using model::Reason;
  static const std::map<std::string_view, Reason> kWords{
      {"N/A", Reason::kUnsupported},
      {"[N/A]", Reason::kUnsupported},
      {"Not Supported", Reason::kUnsupported},
      {"[Not Supported]", Reason::kUnsupported},
      {"Not Found", Reason::kUnsupported},
      {"Requested functionality has been deprecated", Reason::kUnsupported},
      {"Insufficient Permissions", Reason::kDenied},
      {"[Insufficient Permissions]", Reason::kDenied},
      {"Unknown Error", Reason::kFailed},
      {"[Unknown Error]", Reason::kFailed},
      {"Unknown", Reason::kFailed},
      {"ERR!", Reason::kFailed},
      {"GPU is lost", Reason::kFailed},
      {"[GPU is lost]", Reason::kFailed},
      {"GPU requires reset", Reason::kFailed},
      {"[GPU requires reset]", Reason::kFailed}};
  const auto found = kWords.find(value);
  return found != kWords.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<std::string_view> without_unit(std::string_view value, std::string_view unit) {
  const std::size_t blank = value.find(' ');
  if (blank == std::string_view::npos) return value;
  if (trim(value.substr(blank)) != unit) return std::nullopt;
  return value.substr(0, blank);
}

void note_unreadable(Draft& draft, const Field& field) {
  draft.note(
      "smi-query.value-unreadable", field.line,
      [&] { return fmt::format("{}: {}", printable(field.path), quoted(field.value)); },
      "if the driver says so, look into dmesg for Xid messages; otherwise run nvidia-smi -q again");
}

std::optional<std::string> parse_text(std::string_view value) {
  return value.empty() ? std::nullopt : std::optional(printable(value));
}

std::optional<std::uint64_t> parse_count(std::string_view value) {
  return parse_integer<std::uint64_t>(value);
}

std::optional<bool> parse_enabled(std::string_view value) {
  if (value == "Enabled" || value == "Yes" || value == "Active") return true;
  if (value == "Disabled" || value == "No" || value == "Not Active") return false;
  return std::nullopt;
}

std::optional<Bytes> parse_mebibytes(std::string_view value) {
  const auto number = without_unit(value, "MiB");
  const auto count = number ? parse_integer<std::uint64_t>(*number) : std::nullopt;
  if (!count || *count > (~std::uint64_t{0} >> 20U)) return std::nullopt;
  return Bytes{*count << 20U};
}

std::optional<Hertz> parse_megahertz(std::string_view value) {
  return scaled<Hertz>(value, "MHz", 1e6);
}

std::optional<Watts> parse_watts(std::string_view value) {
  return scaled<Watts>(value, "W", 1);
}

std::optional<Celsius> parse_celsius(std::string_view value) {
  return scaled<Celsius>(value, "C", 1);
}

std::optional<std::uint32_t> parse_percent(std::string_view value) {
  const auto number = without_unit(value, "%");
  return number ? parse_integer<std::uint32_t>(*number) : std::nullopt;
}

std::optional<std::uint32_t> parse_lanes(std::string_view value) {
  if (!value.ends_with('x')) return std::nullopt;
  return parse_integer<std::uint32_t>(value.substr(0, value.size() - 1));
}

std::optional<std::uint32_t> parse_generation(std::string_view value) {
  return parse_integer<std::uint32_t>(value);
}

std::optional<std::uint32_t> parse_cuda_version(std::string_view value) {
  const std::size_t dot = value.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto major = parse_integer<std::uint32_t>(value.substr(0, dot));
  const auto minor = parse_integer<std::uint32_t>(value.substr(dot + 1));
  if (!major || !minor || *major > 1000 || *minor > 99) return std::nullopt;
  return *major * 1000 + *minor * 10;  // as cudaDriverGetVersion counts
}

}  // namespace angio::import::smi_query
