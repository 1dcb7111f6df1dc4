#include "base/json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace angio {
namespace {

using Library = nlohmann::json;
constexpr std::size_t kMaxDepth = 256;

// Writes through the library value by value: its own objects cost a search per key.
class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Json& value) {
    if (const auto* text = value.as_string()) return write_leaf(*text);
    if (const auto* flag = value.as_bool()) return write_leaf(*flag);
    if (const auto* integer = value.as_integer()) return write_leaf(*integer);
    if (const auto* number = value.as_double()) return write_leaf(*number);
    if (const auto* array = value.as_array()) return write_array(*array);
    if (const auto* object = value.as_object()) return write_object(*object);
    text_ += "null";
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void write_leaf(const Library& leaf) {
    text_ += leaf.dump(-1, ' ', false, Library::error_handler_t::replace);
  }

  void write_array(const Json::Array& items) {
    if (items.empty()) {
      text_ += "[]";
      return;
    }
    text_ += '[';
    ++depth_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text_ += ',';
      break_line();
      write(items[i]);
    }
    --depth_;
    break_line();
    text_ += ']';
  }

  void write_object(const Json::Object& members) {
    if (members.empty()) {
      text_ += "{}";
      return;
    }
    text_ += '{';
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) text_ += ',';
      break_line();
      write_leaf(members[i].first);
      text_ += indent_ < 0 ? ":" : ": ";
      write(members[i].second);
    }
    --depth_;
    break_line();
    text_ += '}';
  }

  void break_line() {
    if (indent_ < 0) return;
    text_ += '\n';
    text_.append(static_cast<std::size_t>(indent_) * depth_, ' ');
  }

  std::string text_;
  std::size_t depth_ = 0;
  int indent_;
};

std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

// Takes the library's parse events; a value is finished when its container ends.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*text*/) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Library::binary_t& /*value*/) { return false; }  // JSON text has none
  bool start_object(std::size_t /*size*/) { return begin(Json::object()); }
  bool start_array(std::size_t /*size*/) { return begin(Json::array()); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string& value) {
    open_.back().key = std::move(value);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string& /*token*/, const Library::exception& /*why*/) {
    error_ = Error{ErrorCode::kInvalidInput, place(text_, byte) + ": not valid JSON here",
                   "check that the file is complete"};
    return false;
  }

  [[nodiscard]] Result<Json> take(bool complete) {
    if (complete) return std::move(root_);
    return std::unexpected(std::move(error_));
  }

 private:
  struct Open {
    Json value;
    std::string key;  // of the member being read
  };

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.as_array() != nullptr) {
      open_.back().value.push_back(std::move(value));
    } else {
      open_.back().value.set(std::move(open_.back().key), std::move(value));
    }
    return true;
  }

  bool begin(Json container) {
    if (open_.size() == kMaxDepth) {
      error_ =
          Error{ErrorCode::kInvalidInput, fmt::format("JSON nests deeper than {} levels", kMaxDepth), {}};
      return false;
    }
    open_.push_back({std::move(container), {}});
    return true;
  }

  bool end() {
    Json finished = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(finished));
  }

  std::string_view text_;
  std::vector<Open> open_;
  Json root_;
  Error error_{ErrorCode::kInvalidInput, "not valid JSON", {}};
};

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
  Writer writer(indent);
  writer.write(value);
  return writer.take();
}

Result<Json> parse_json(std::string_view text) {
  Reader reader(text);
  try {
    const bool complete = Library::sax_parse(text, &reader);
    return reader.take(complete);
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInvalidInput, fmt::format("not valid JSON: {}", error.what()));
  }
}

}  // namespace angio
