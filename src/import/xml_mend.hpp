// Makes damaged XML well formed without moving a line: the step before the parser.
#pragma once

#include <string>
#include <string_view>

#include "import/draft.hpp"

namespace angio::import {

std::string mend_xml(std::string_view text, Draft& draft);

}  // namespace angio::import
