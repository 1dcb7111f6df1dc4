// A shell command over several lines that can be copied as they stand: broken only at blanks, each line but
// the last ending in " \". Quotes, comments and here-documents stay whole, and so does a word that is longer
// than a line. Knows quoting, not the shell's grammar.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace angio::report {

// Never empty. A line is wider than width only where the command offers no blank to break at.
std::vector<std::string> shell_lines(std::string_view command, std::size_t width);

}  // namespace angio::report
