// A TOML text as a tree of values with the line that each stands on. The library behind it stays in the .cpp;
// what it would stop the program for is an error here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace angio::experiment {

struct SpecMember;

struct SpecValue {
  using List = std::vector<SpecValue>;
  using Table = std::vector<SpecMember>;

  std::uint32_t line = 1;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Table> value;

  [[nodiscard]] const SpecValue* find(std::string_view key) const;  // null when absent or no table
  [[nodiscard]] const char* kind() const;                           // "a text", "a number", "a list"
};

struct SpecMember {
  std::string name;
  SpecValue value;
};

inline constexpr std::size_t kMostSpecBytes = std::size_t{1} << 20U;

// name is of the file, for errors: "channels.toml:12: …".
Result<SpecValue> parse_spec_toml(std::string_view text, const std::string& name);

}  // namespace angio::experiment
