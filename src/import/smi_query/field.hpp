// One "name : value" line of `nvidia-smi -q`, and its words to values: "16x", "81559 MiB", "71.97 W",
// "N/A", "[Unknown Error]".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "import/draft.hpp"

namespace angio::import::smi_query {

struct Field {
  std::string path;  // "PCI/GPU Link Info/Link Width/Current"
  std::string_view value;
  std::uint32_t line = 0;
};

// The reason of a word that stands in for a value ("N/A", "Insufficient Permissions"); none for a value.
std::optional<model::Reason> missing(std::string_view value);

// "81559 MiB" → "81559" when the unit is the one expected, or when there is none.
std::optional<std::string_view> without_unit(std::string_view value, std::string_view unit);

void note_unreadable(Draft& draft, const Field& field);

// The value by parse, which answers optional<T>; what it cannot read is noted.
template <typename T, typename Parse>
model::Observed<T> observe(Draft& draft, const Field& field, Parse parse) {
  if (const auto reason = missing(field.value)) {
    if (*reason == model::Reason::kFailed) note_unreadable(draft, field);
    return draft.unreadable<T>(*reason, field.line);
  }
  if (std::optional<T> value = parse(field.value)) return draft.known(std::move(*value), field.line);
  note_unreadable(draft, field);
  return draft.unreadable<T>(model::Reason::kUnparsable, field.line);
}

std::optional<std::string> parse_text(std::string_view value);
std::optional<std::uint64_t> parse_count(std::string_view value);
std::optional<bool> parse_enabled(std::string_view value);  // Enabled/Disabled, Yes/No, Active/Not Active
std::optional<Bytes> parse_mebibytes(std::string_view value);
std::optional<Hertz> parse_megahertz(std::string_view value);
std::optional<Watts> parse_watts(std::string_view value);
std::optional<Celsius> parse_celsius(std::string_view value);
std::optional<std::uint32_t> parse_percent(std::string_view value);
std::optional<std::uint32_t> parse_lanes(std::string_view value);         // "16x"
std::optional<std::uint32_t> parse_generation(std::string_view value);    // "5"
std::optional<std::uint32_t> parse_cuda_version(std::string_view value);  // "12.2" → 12020

}  // namespace angio::import::smi_query
