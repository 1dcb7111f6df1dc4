// Text for XML and HTML: nothing that came from a machine or a file can become a tag, an attribute or a
// character that XML forbids. Used by the HTML and SVG renderers.
#pragma once

#include <string>
#include <string_view>

#include "report/document.hpp"

namespace angio::report {

std::string escape_markup(std::string_view text);
// "critical", "warning": the style class of a tone; empty for plain.
std::string_view tone_class(Tone tone);

}  // namespace angio::report
