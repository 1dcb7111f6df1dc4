// The elements NCCL knows, where they belong and which attributes it looks at, and the shapes of its values.
// For topology_check.cpp; what a user of the library needs is in topology_check.hpp.
#pragma once

#include <string_view>

namespace angio::nccl {

struct Schema {
  std::string_view name;
  std::string_view parents;  // names with blanks around them
  std::string_view attributes;
};

// Null for an element that NCCL and RCCL do not know.
const Schema* schema_of(std::string_view name);
// Whether words, which begins and ends with a blank, holds the word.
bool lists(std::string_view words, std::string_view word);
bool all_of(std::string_view text, std::string_view allowed);
bool is_hexadecimal(std::string_view text);
// The whole text is a number the way NCCL reads one.
bool is_number(std::string_view text);

}  // namespace angio::nccl
