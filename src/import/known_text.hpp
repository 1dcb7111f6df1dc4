// Recognition on a text that is already cleaned, and what to say about a text that is none of the known ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "import/import.hpp"
#include "import/lines.hpp"

namespace angio::import {

ForeignKind recognise_cleaned(std::string_view cleaned, const std::vector<Line>& lines);

// No text: a program, an image. A stray NUL in a paste, or UTF-16, does not make a file binary.
bool is_binary(std::string_view bytes);

// The error for kUnknown: what it looks like, what is known, what to run.
Error refuse_unknown(std::string_view bytes, const std::string& name);

}  // namespace angio::import
