#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace angio {
namespace {

using Library = nlohmann::ordered_json;
constexpr int kMaxDepth = 256;

struct ToLibrary {
  Library operator()(std::monostate) const { return nullptr; }
  Library operator()(const Json::Array& items) const;
  Library operator()(const Json::Object& members) const;
  template <typename T>
  Library operator()(const T& value) const {
    return value;
  }
};

Library to_library(const Json& value) {
  const ToLibrary convert;
  if (const auto* text = value.as_string()) return convert(*text);
  if (const auto* flag = value.as_bool()) return convert(*flag);
  if (const auto* integer = value.as_integer()) return convert(*integer);
  if (const auto* number = value.as_double()) return convert(*number);
  if (const auto* array = value.as_array()) return convert(*array);
  if (const auto* object = value.as_object()) return convert(*object);
  return nullptr;
}

Library ToLibrary::operator()(const Json::Array& items) const {
  Library array = Library::array();
  for (const Json& item : items) array.push_back(to_library(item));
  return array;
}

Library ToLibrary::operator()(const Json::Object& members) const {
  Library object = Library::object();
  for (const auto& [key, value] : members) object[key] = to_library(value);
  return object;
}

Json from_library(const Library& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    Json array = Json::array();
    for (const Library& item : value) array.push_back(from_library(item));
    return array;
  }
  if (!value.is_object()) return {};
  Json object = Json::object();
  for (const auto& [key, member] : value.items()) object.set(key, from_library(member));
  return object;
}

bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == '[' || text[i] == '{')) {
      if (++depth > kMaxDepth) return true;
    } else if (!quoted && (text[i] == ']' || text[i] == '}')) {
      --depth;
    }
  }
  return false;
}

std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

}  // namespace

Json::Json(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = static_cast<double>(value);
  }
}

Json Json::array(Array items) {
  Json json;
  json.value_ = std::move(items);
  return json;
}

Json Json::object(std::initializer_list<Member> members) {
  Json json;
  json.value_ = Object(members);
  return json;
}

void Json::push_back(Json item) {
  if (is_null()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(item));
}

void Json::set(std::string key, Json value) {
  if (is_null()) value_ = Object{};
  std::get<Object>(value_).emplace_back(std::move(key), std::move(value));
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  const auto found = std::ranges::find(*object, key, &Member::first);
  return found != object->end() ? &found->second : nullptr;
}

std::string to_text(const Json& value, int indent) {
  return to_library(value).dump(indent, ' ', false, Library::error_handler_t::replace);
}

Result<Json> parse_json(std::string_view text) {
  if (too_deep(text)) {
    return fail(ErrorCode::kInvalidInput, fmt::format("JSON nests deeper than {} levels", kMaxDepth));
  }
  try {
    return from_library(Library::parse(text));
  } catch (const Library::parse_error& error) {
    return fail(ErrorCode::kInvalidInput, fmt::format("{}: not valid JSON here", place(text, error.byte)),
                "check that the file is complete");
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInvalidInput, fmt::format("not valid JSON: {}", error.what()));
  }
}

}  // namespace angio
