// What to say about a text that holds no fabric: what it looks like, and what to give instead.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace angio::import::fabric {

Error refuse_text(std::string_view bytes, const std::string& name);

}  // namespace angio::import::fabric
