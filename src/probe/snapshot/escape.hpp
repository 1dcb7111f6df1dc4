// How paths, names and words stand in a .snap line: \xNN for what would break the line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace angio::probe::snapshot {

// Blanks count as breaking unless keep_blanks (a library's words to the end of the line).
void append_escaped(std::string& out, std::string_view text, bool keep_blanks = false);
// Empty optional: an escape is damaged. Unescaped text passes through.
std::optional<std::string> unescape(std::string_view text);

void append_hex(std::string& out, std::string_view bytes);
std::optional<std::string> parse_hex(std::string_view text);

// True when the text can stand behind "|": printable, tabs allowed, valid UTF-8.
bool is_plain(std::string_view text);

}  // namespace angio::probe::snapshot
