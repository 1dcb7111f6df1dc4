// Reads tables of a description with strict names and kinds; keeps the first mistake, with file and line, and
// answers "nothing" from then on. Used by tune_spec.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "experiment/spec_toml.hpp"

namespace angio::experiment {

class SpecReader {
 public:
  explicit SpecReader(std::string file) : file_(std::move(file)) {}

  // The first mistake counts.
  void object(const SpecValue& at, const std::string& words, const std::string& hint = {});
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] Error error() const { return *error_; }

  // Every key must be one of these; where: "[metric]".
  void allow(const SpecValue& table, const std::string& where, std::initializer_list<std::string_view> keys);
  std::optional<std::string> text(const SpecValue& table, std::string_view key);
  std::optional<bool> truth(const SpecValue& table, std::string_view key);
  // Within least and most, both included.
  std::optional<double> number(const SpecValue& table, std::string_view key, double least, double most);
  std::optional<std::int64_t> whole(const SpecValue& table, std::string_view key, std::int64_t least,
                                    std::int64_t most);
  std::vector<std::string> words(const SpecValue& table, std::string_view key);
  // [[key]] tables; empty when absent.
  std::vector<const SpecValue*> tables(const SpecValue& table, std::string_view key);

 private:
  std::string file_;
  std::optional<Error> error_;
};

// A number as it would stand in a command: 8, 0.5.
std::optional<std::string> scalar_text(const SpecValue& value);

}  // namespace angio::experiment
