// A moment as results write it ("2026-11-30T10:00:00Z") in seconds since 1970. Only UTC with its Z: a time of
// another form is none. The clock itself is host's (host/clock.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace angio {

std::optional<std::int64_t> parse_utc(std::string_view text);

}  // namespace angio
