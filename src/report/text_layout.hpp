// Measures and wraps toned text for fixed-pitch output: width in columns, not bytes. Used by
// render_terminal; views use display_width to fit tables. Knows nothing of escapes or tags.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.hpp"

namespace angio::report {

// Columns the text takes: combining marks none, East Asian wide characters two.
std::size_t display_width(std::string_view text);
std::size_t display_width(const Line& line);

// The text cut to width columns, with "…" (or "~" in ASCII) in place of what was cut.
std::string shorten(std::string_view text, std::size_t width, bool ascii = false);

// Lines of at most width columns; broken at blanks, words longer than a line inside. Never empty.
std::vector<Line> wrap(const Line& line, std::size_t width);

// Safe to print (no control characters or broken UTF-8); in ASCII with the usual stand-ins ("->", "-").
std::string display_text(std::string_view text, bool ascii);

}  // namespace angio::report
