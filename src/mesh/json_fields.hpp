// Members of a JSON object as values, for the readers of this library: none where it is absent or of another
// type. Not the words of an error.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/json.hpp"

namespace angio::mesh {

inline std::string text_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

inline std::optional<double> real_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = value->as_integer()) return static_cast<double>(*whole);
  const double* real = value->as_double();
  return real != nullptr && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

template <typename Number>
std::optional<Number> whole_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  const std::int64_t* whole = value == nullptr ? nullptr : value->as_integer();
  if (whole == nullptr || !std::in_range<Number>(*whole)) return std::nullopt;
  return static_cast<Number>(*whole);
}

inline bool truth_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  const bool* truth = value == nullptr ? nullptr : value->as_bool();
  return truth != nullptr && *truth;
}

inline const Json::Array& list_of(const Json& object, std::string_view key) {
  static const Json::Array kNone;
  const Json* value = object.find(key);
  const Json::Array* list = value == nullptr ? nullptr : value->as_array();
  return list == nullptr ? kNone : *list;
}

template <typename Value>
void set_known(Json& object, const char* key, const std::optional<Value>& value) {
  if (value) object.set(key, *value);
}

}  // namespace angio::mesh
