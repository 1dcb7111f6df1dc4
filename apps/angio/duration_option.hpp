// A length of time as people write it on a command line: "10s", "500ms", "2m", "1h", "30d", "2w"; a number
// alone is seconds.
#pragma once

#include <string_view>

#include "base/error.hpp"

namespace angio::app {

// In seconds, more than 0. what: the option, for the message.
Result<double> parse_duration(std::string_view text, std::string_view what);

}  // namespace angio::app
