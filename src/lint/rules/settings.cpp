#include "lint/rules/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::lint {
namespace {

constexpr std::array<std::string_view, 6> kYes{"true", "yes", "on", "enable", "enabled", "y"};
constexpr std::array<std::string_view, 6> kNo{"false", "no", "off", "disable", "disabled", "n"};

// Every word of capitals with an underscore, as variables are named.
MentionIndex mentions_in(std::string_view text) {
  MentionIndex index;
  bool comment = false;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      const bool starts =
          text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t' || text[i - 1] == '\n');
      comment = text[i] != '\n' && (comment || starts);
      ++i;
      continue;
    }
    const std::size_t begin = i;
    bool underscore = false;
    for (; i < text.size() && is_word(text[i]); ++i)
      underscore = underscore || text[i] == '_';
    if (!underscore || text[begin] < 'A' || text[begin] > 'Z') continue;
    Mentions& mentions = index[text.substr(begin, i - begin)];
    ++mentions.all;
    if (!comment && (i >= text.size() || text[i] != '=')) ++mentions.uses;
  }
  return index;
}

constexpr std::size_t kShown = 60;  // characters of a value in a sentence

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

}  // namespace

Mentions Known::mentions_of(std::string_view name) const {
  if (mentions == nullptr) return {};
  const auto found = mentions->find(name);
  return found == mentions->end() ? Mentions{} : found->second;
}

bool Known::is_used_elsewhere() const {
  const std::size_t end = setting.name_place.offset + setting.name_place.length;
  const bool itself = end >= script.text.size() || script.text[end] != '=';  // name: NCCL_DEBUG
  return mentions_of(setting.name).uses > (itself ? 1U : 0U);
}

bool Known::is_kubernetes_boolean() const {
  constexpr std::array<std::string_view, 6> kBooleans{"true", "false", "yes", "no", "on", "off"};
  const bool value = setting.via == "env" || setting.via == "KEY: value";
  if (!kubernetes || !value || setting.dynamic) return false;
  const std::string_view raw =
      std::string_view(script.text).substr(setting.value_place.offset, setting.value_place.length);
  return raw == setting.value && std::ranges::find(kBooleans, to_lower(raw)) != kBooleans.end();
}

bool reads_number(const knowledge::Variable& variable) {
  return variable.component == "nccl" && variable.name.starts_with("NCCL_") &&
         (variable.kind == knowledge::VariableKind::kBool ||
          variable.kind == knowledge::VariableKind::kInteger);
}

std::optional<bool> truth_of(std::string_view word) {
  const std::string lower = to_lower(word);
  if (std::ranges::find(kYes, lower) != kYes.end()) return true;
  return std::ranges::find(kNo, lower) != kNo.end() ? std::optional(false) : std::nullopt;
}

std::vector<Known> known_settings(const Script& script) {
  std::vector<Known> known;
  const auto mentions = std::make_shared<const MentionIndex>(mentions_in(script.text));
  const bool kubernetes = is_kubernetes(script);
  for (const Setting& setting : script.settings) {
    if (setting.unset || !setting.exported) continue;
    if (const knowledge::Variable* variable = knowledge::find_variable(setting.name)) {
      known.push_back({script, setting, *variable, mentions, kubernetes});
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

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace angio::lint
