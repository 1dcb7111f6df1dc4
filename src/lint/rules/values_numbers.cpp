// Numbers as NCCL reads them: strtoll with base 0 and no complaint about what is left (src/misc/param.cc).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

void not_a_number(const Known& known, Complaints& out) {
  // What to write instead stands in the complaint about the string that it is not.
  if (known.is_kubernetes_boolean()) return;
  const auto truth = truth_of(known.setting.value);
  const bool flag = known.variable.kind == knowledge::VariableKind::kBool;
  const std::string_view wanted = truth.value_or(false) ? "1" : "0";
  auto complaint =
      complain("env.value.not-a-number", known.script, known.setting.value_place,
               fmt::format("{}: NCCL reads a number here and takes this as 0", shown(known.setting)),
               truth ? fmt::format("write {}", wanted) : std::string());
  if (truth == false) complaint.severity = model::Severity::kInfo;  // 0 is what was meant
  if (flag && truth) fix_with(complaint, new_value(known.script, known.setting, wanted));
  out.push_back(std::move(complaint));
}

// 8M, 4MiB, 512k: the bytes that were meant.
std::optional<std::int64_t> bytes_meant(const Number& number) {
  const std::string suffix = to_lower(trim(number.rest));
  constexpr std::array<std::string_view, 3> kPrefixes{"k", "m", "g"};
  if (suffix.empty() || number.value < 0 || number.value > (std::int64_t{1} << 32)) return std::nullopt;
  const auto prefix = std::ranges::find(kPrefixes, std::string_view(suffix).substr(0, 1));
  const std::string_view unit = std::string_view(suffix).substr(1);
  if (prefix == kPrefixes.end() || !(unit.empty() || unit == "b" || unit == "ib")) return std::nullopt;
  return number.value << (10 * (prefix - kPrefixes.begin() + 1));
}

void trailing_text(const Known& known, const Number& number, Complaints& out) {
  auto complaint = complain("env.value.suffix", known.script, known.setting.value_place,
                            fmt::format("{}: NCCL reads {} and ignores \"{}\"", shown(known.setting),
                                        number.value, shown(number.rest)));
  const bool bytes = known.variable.grammar.find("bytes") != std::string_view::npos;
  if (const auto meant = bytes_meant(number); meant && bytes) {
    complaint.advice = fmt::format("write the bytes: {}", *meant);
    fix_with(complaint, new_value(known.script, known.setting, fmt::format("{}", *meant)));
  }
  out.push_back(std::move(complaint));
}

void octal(const Known& known, const Number& number, Complaints& out) {
  const auto decimal = parse_integer<std::int64_t>(known.setting.value);
  if (decimal && *decimal == number.value) return;
  out.push_back(complain(
      "env.value.octal", known.script, known.setting.value_place,
      fmt::format("{}: the leading 0 makes it octal, NCCL reads {}", shown(known.setting), number.value),
      decimal ? fmt::format("write {} if that is meant", *decimal) : std::string()));
}

bool is_special(const knowledge::Variable& variable, std::int64_t value) {
  return std::ranges::any_of(variable.special_values, [&](std::string_view special) {
    return parse_integer<std::int64_t>(special) == value;
  });
}

void out_of_range(const Known& known, const Number& number, Complaints& out) {
  const knowledge::Variable& variable = known.variable;
  if (!variable.has_range || is_special(variable, number.value)) return;
  if (number.value >= variable.minimum && number.value <= variable.maximum) return;
  const bool open = variable.maximum >= INT32_MAX;
  out.push_back(complain(
      "env.value.range", known.script, known.setting.value_place,
      open ? fmt::format("{}: at least {}", shown(known.setting), variable.minimum)
           : fmt::format("{}: outside {} to {}", shown(known.setting), variable.minimum, variable.maximum),
      std::string(variable.grammar)));
}

void same_as_default(const Known& known, const Context& context, const Number& number, Complaints& out) {
  const auto standard = knowledge::default_at(known.variable, version_for(context, known.variable));
  if (!standard || parse_integer<std::int64_t>(*standard) != number.value) return;
  auto complaint = complain("env.value.default", known.script, known.setting.value_place,
                            fmt::format("{}: the default of {}", shown(known.setting), nccl_words(context)),
                            "needed only to undo a value from the image, the site's profile or nccl.conf");
  // "Automatic" is what every release does by itself.
  if (is_special(known.variable, number.value) && !known.is_used_elsewhere())
    fix_with(complaint, removal(known.setting));
  out.push_back(std::move(complaint));
}

}  // namespace

void check_number(const Known& known, const Context& context, Complaints& out) {
  const std::string_view value = known.setting.value;
  if (!reads_number(known.variable) || value.empty()) return;
  const Number number = read_number(value);
  if (!number.any) {
    not_a_number(known, out);
  } else if (!trim(number.rest).empty()) {
    if (number.octal && is_digits(value)) {
      octal(known, number, out);
    } else {
      trailing_text(known, number, out);
    }
  } else {
    if (number.octal) octal(known, number, out);
    out_of_range(known, number, out);
    if (!number.octal) same_as_default(known, context, number, out);
  }
}

}  // namespace angio::lint
