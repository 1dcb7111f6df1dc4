// A JSON value: built by views, read from input. Objects keep the order of insertion, so output is
// stable. The library behind it stays in json.cpp. Depth and size of input are bounded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace angio {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;                                             // null
  Json(bool value) : value_(value) {}                           // NOLINT(google-explicit-constructor)
  Json(int value) : value_(std::int64_t{value}) {}              // NOLINT(google-explicit-constructor)
  Json(std::int64_t value) : value_(value) {}                   // NOLINT(google-explicit-constructor)
  Json(std::uint32_t value) : value_(std::int64_t{value}) {}    // NOLINT(google-explicit-constructor)
  Json(std::uint64_t value);                                    // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}                         // NOLINT(google-explicit-constructor)
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT(google-explicit-constructor)
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)

  static Json array(Array items = {});
  static Json object(std::initializer_list<Member> members = {});

  void push_back(Json item);              // null becomes an array
  void set(std::string key, Json value);  // null becomes an object; appends, does not replace

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const bool* as_bool() const { return std::get_if<bool>(&value_); }
  [[nodiscard]] const std::int64_t* as_integer() const { return std::get_if<std::int64_t>(&value_); }
  [[nodiscard]] const double* as_double() const { return std::get_if<double>(&value_); }
  [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&value_); }
  [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&value_); }
  [[nodiscard]] const Json* find(std::string_view key) const;  // null when absent or not an object

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

// indent < 0: one line. Invalid UTF-8 is replaced, never an error.
std::string to_text(const Json& value, int indent = 2);
// Errors name line and column.
Result<Json> parse_json(std::string_view text);

}  // namespace angio
