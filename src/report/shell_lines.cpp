#include "report/shell_lines.hpp"

#include "report/text_layout.hpp"

namespace angio::report {
namespace {

constexpr std::string_view kContinued = " \\";

// The blanks at which the shell itself would take a continued line for a blank.
std::vector<std::size_t> places_to_break(std::string_view line) {
  std::vector<std::size_t> places;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != '\0') {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = '\0';
    } else if (c == '\\') {
      ++i;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ')) {
      return places;  // a comment goes on to the end of its line
    } else if (c == ' ' && i > 0 && line[i - 1] != ' ') {
      places.push_back(i);
    }
  }
  if (quote != '\0') places.clear();  // a quote that does not end: prose, or a command of many lines
  return places;
}

void break_line(std::string_view line, std::size_t width, std::vector<std::string>& lines) {
  const std::vector<std::size_t> places = places_to_break(line);
  std::size_t begin = 0;
  std::size_t next = 0;
  while (display_width(line.substr(begin)) > width) {
    std::size_t end = line.size();
    for (; next < places.size(); ++next) {
      if (places[next] <= begin) continue;
      const bool fits = display_width(line.substr(begin, places[next] - begin)) + kContinued.size() <= width;
      if (!fits && end != line.size()) break;
      end = places[next];
      if (!fits) break;  // a word longer than the line: break behind it
    }
    const std::size_t after = line.find_first_not_of(' ', end);
    if (end == line.size() || after == std::string_view::npos) break;
    lines.emplace_back(std::string(line.substr(begin, end - begin)).append(kContinued));
    begin = after;
  }
  lines.emplace_back(line.substr(begin));
}

}  // namespace

std::vector<std::string> shell_lines(std::string_view command, std::size_t width) {
  std::vector<std::string> lines;
  const bool here_document = command.find("<<") != std::string_view::npos;
  while (true) {
    const std::size_t end = command.find('\n');
    const std::string_view line = command.substr(0, end);
    here_document ? void(lines.emplace_back(line)) : break_line(line, width, lines);
    if (end == std::string_view::npos) return lines;
    command.remove_prefix(end + 1);
  }
}

}  // namespace angio::report
