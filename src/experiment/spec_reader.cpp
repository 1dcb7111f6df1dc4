#include "experiment/spec_reader.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"

namespace angio::experiment {

void SpecReader::object(const SpecValue& at, const std::string& words, const std::string& hint) {
  if (error_) return;
  error_ = Error{ErrorCode::kInvalidInput, fmt::format("{}:{}: {}", printable(file_), at.line, words), hint};
}

void SpecReader::allow(const SpecValue& table, const std::string& where,
                       std::initializer_list<std::string_view> keys) {
  const auto* members = std::get_if<SpecValue::Table>(&table.value);
  if (members == nullptr)
    return object(table, fmt::format("{} is {}, expected a table", where, table.kind()));
  const std::vector<std::string_view> known(keys);
  for (const auto& [name, value] : *members) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto meant = did_you_mean(name, known);
    std::vector<std::string> all(known.begin(), known.end());
    return object(value, fmt::format("{} has no \"{}\"", where, printable(name)),
                  meant ? fmt::format("Did you mean \"{}\"?", *meant) : "it has: " + join(all, ", "));
  }
}

std::optional<std::string> SpecReader::text(const SpecValue& table, std::string_view key) {
  const SpecValue* value = table.find(key);
  if (value == nullptr || failed()) return std::nullopt;
  if (const auto* found = std::get_if<std::string>(&value->value)) {
    if (found->find('\0') == std::string::npos) return *found;
    object(*value, fmt::format("{} has a NUL in it", key));
    return std::nullopt;
  }
  object(*value, fmt::format("{} is {}, expected a text in quotes", key, value->kind()));
  return std::nullopt;
}

std::optional<bool> SpecReader::truth(const SpecValue& table, std::string_view key) {
  const SpecValue* value = table.find(key);
  if (value == nullptr || failed()) return std::nullopt;
  if (const auto* found = std::get_if<bool>(&value->value)) return *found;
  object(*value, fmt::format("{} is {}, expected true or false", key, value->kind()));
  return std::nullopt;
}

std::optional<double> SpecReader::number(const SpecValue& table, std::string_view key, double least,
                                         double most) {
  const SpecValue* value = table.find(key);
  if (value == nullptr || failed()) return std::nullopt;
  std::optional<double> found;
  if (const auto* whole_value = std::get_if<std::int64_t>(&value->value))
    found = static_cast<double>(*whole_value);
  if (const auto* real = std::get_if<double>(&value->value)) found = *real;
  if (!found) {
    object(*value, fmt::format("{} is {}, expected a number", key, value->kind()));
  } else if (!(*found >= least && *found <= most)) {
    object(*value, fmt::format("{} is {:g}, expected {:g} to {:g}", key, *found, least, most));
    found.reset();
  }
  return found;
}

std::optional<std::int64_t> SpecReader::whole(const SpecValue& table, std::string_view key,
                                              std::int64_t least, std::int64_t most) {
  const SpecValue* value = table.find(key);
  if (value == nullptr || failed()) return std::nullopt;
  const auto* found = std::get_if<std::int64_t>(&value->value);
  if (found == nullptr) {
    object(*value, fmt::format("{} is {}, expected a whole number", key, value->kind()));
    return std::nullopt;
  }
  if (*found >= least && *found <= most) return *found;
  object(*value, fmt::format("{} is {}, expected {} to {}", key, *found, least, most));
  return std::nullopt;
}

std::vector<std::string> SpecReader::words(const SpecValue& table, std::string_view key) {
  const SpecValue* value = table.find(key);
  if (value == nullptr || failed()) return {};
  std::vector<std::string> made;
  const auto* list = std::get_if<SpecValue::List>(&value->value);
  if (list == nullptr) {
    object(*value, fmt::format("{} is {}, expected a list of words", key, value->kind()));
    return {};
  }
  for (const SpecValue& item : *list) {
    const auto word = scalar_text(item);
    if (!word) {
      object(item, fmt::format("{} holds {}, expected texts and numbers", key, item.kind()));
      return {};
    }
    made.push_back(*word);
  }
  return made;
}

std::vector<const SpecValue*> SpecReader::tables(const SpecValue& table, std::string_view key) {
  const SpecValue* value = table.find(key);
  if (value == nullptr || failed()) return {};
  const auto* list = std::get_if<SpecValue::List>(&value->value);
  std::vector<const SpecValue*> made;
  if (list != nullptr) {
    for (const SpecValue& item : *list)
      made.push_back(&item);
  }
  const bool right = list != nullptr && std::ranges::all_of(made, [](const SpecValue* item) {
                       return std::holds_alternative<SpecValue::Table>(item->value);
                     });
  if (right) return made;
  object(*value, fmt::format("{} is {}, expected [[{}]] tables", key, value->kind(), key));
  return {};
}

std::optional<std::string> scalar_text(const SpecValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) {
    if (text->find('\0') != std::string::npos) return std::nullopt;
    return *text;
  }
  if (const auto* whole = std::get_if<std::int64_t>(&value.value)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&value.value); real != nullptr && std::isfinite(*real))
    return fmt::format("{}", *real);
  return std::nullopt;
}

}  // namespace angio::experiment
