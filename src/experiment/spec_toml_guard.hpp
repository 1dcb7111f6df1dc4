// What a TOML text must keep to before the library sees it: its version 3.3 stops the program, or recurses as
// deep as the text wants, on some texts that are no TOML. Used by spec_toml.cpp alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace angio::experiment {

struct TomlObjection {
  std::uint32_t line = 1;
  std::string words;
};

std::optional<TomlObjection> find_toml_objection(std::string_view text);

}  // namespace angio::experiment
