#include "lint/rules/settings.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::lint {
namespace {

constexpr std::size_t kShown = 60;  // characters of a value in a sentence

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

}  // namespace

std::vector<Known> known_settings(const Script& script) {
  std::vector<Known> known;
  for (const Setting& setting : script.settings) {
    if (setting.unset || !setting.exported) continue;
    if (const knowledge::Variable* variable = knowledge::find_variable(setting.name)) {
      known.push_back({script, setting, *variable});
    }
  }
  return known;
}

std::string_view version_for(const Context& context, const knowledge::Variable& variable) {
  if (variable.component == "nccl") return context.nccl_version;
  const auto found = context.versions.find(std::string(variable.component));
  return found == context.versions.end() ? std::string_view() : std::string_view(found->second);
}

bool holds(std::string_view fact, const Context& context) {
  const knowledge::NcclFact* found = knowledge::find_nccl_fact(fact);
  return found != nullptr && knowledge::holds(*found, context.nccl_version);
}

std::string nccl_words(const Context& context) {
  return context.nccl_version.empty() ? "this NCCL" : "NCCL " + context.nccl_version;
}

Number read_number(std::string_view text) {
  Number number;
  std::size_t i = 0;
  while (i < text.size() && (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')))
    ++i;
  bool negative = false;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
  int base = 10;
  if (i + 2 < text.size() && text[i] == '0' && (text[i + 1] == 'x' || text[i + 1] == 'X') &&
      digit_of(text[i + 2]) < 16) {
    base = 16;
    i += 2;
  } else if (i + 1 < text.size() && text[i] == '0' && digit_of(text[i + 1]) < 10) {
    base = 8;
    number.octal = true;
  }
  constexpr std::int64_t kMost = INT64_MAX;
  for (; i < text.size() && digit_of(text[i]) < base; ++i) {
    number.any = true;
    const int digit = digit_of(text[i]);
    number.value = number.value > (kMost - digit) / base ? kMost : number.value * base + digit;
  }
  if (negative) number.value = -number.value;
  number.rest = text.substr(std::min(i, text.size()));
  return number;
}

std::string shown(std::string_view text) {
  return text.size() <= kShown ? printable(text) : printable(text.substr(0, kShown)) + "…";
}

std::string shown(const Setting& setting) {
  return shown(setting.name) + "=" + shown(setting.value);
}

std::optional<Edit> new_value(const Script& script, const Setting& setting, std::string_view value) {
  const Place& place = setting.value_place;
  const std::string_view raw = std::string_view(script.text).substr(place.offset, place.length);
  if (raw == setting.value) return Edit{place.offset, place.length, std::string(value)};
  const bool quoted = raw.size() == setting.value.size() + 2 && (raw.front() == '"' || raw.front() == '\'') &&
                      raw.back() == raw.front() && raw.substr(1, raw.size() - 2) == setting.value;
  if (!quoted) return std::nullopt;
  return Edit{place.offset + 1, place.length - 2, std::string(value)};
}

std::optional<Edit> removal(const Setting& setting) {
  if (setting.statement_place.length == 0) return std::nullopt;
  return Edit{setting.statement_place.offset, setting.statement_place.length, ""};
}

void fix_with(Complaint& complaint, std::optional<Edit> edit) {
  if (edit) complaint.fix.push_back(std::move(*edit));
}

Scope::Scope(const Script& script) : script_(script) {
  for (const Setting& setting : script.settings) {
    if (setting.unset) {
      last_.erase(setting.name);
    } else if (setting.exported) {
      // nccl.conf is read from the top and never overwrites.
      if (script.kind == FileKind::kNcclConf) {
        last_.emplace(setting.name, &setting);
      } else {
        last_[setting.name] = &setting;
      }
    }
  }
}

const Setting* Scope::find(std::string_view name) const {
  const auto found = last_.find(name);
  return found == last_.end() ? nullptr : found->second;
}

std::optional<std::string_view> Scope::text(std::string_view name) const {
  const Setting* setting = find(name);
  if (setting == nullptr || setting->dynamic) return std::nullopt;
  return setting->value;
}

std::optional<std::int64_t> Scope::number(std::string_view name) const {
  const auto value = text(name);
  if (!value || value->empty()) return std::nullopt;
  return read_number(*value).value;
}

}  // namespace angio::lint
