// Lines and comments of a script's text.
#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "lint/rules/launch_line.hpp"

namespace angio::lint {

TextLines::TextLines(std::string_view text) : text_(text) {
  starts_.push_back(0);
  for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    starts_.push_back(at + 1);
}

std::size_t TextLines::begin_of(std::size_t offset) const {
  return *std::prev(std::upper_bound(starts_.begin(), starts_.end(), offset));
}

Place TextLines::place(std::size_t offset, std::size_t length) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto number = static_cast<std::uint32_t>(after - starts_.begin());
  return {number, static_cast<std::uint32_t>(offset - *std::prev(after) + 1), offset, length};
}

std::string_view TextLines::line(std::size_t index) const {
  const auto end = index + 1 < starts_.size() ? starts_[index + 1] - 1 : text_.size();
  auto line = text_.substr(starts_[index], end - starts_[index]);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view TextLines::line_of(std::size_t offset) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  return line(static_cast<std::size_t>(after - starts_.begin()) - 1);
}

std::string_view comment_of(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return line.substr(i);
    }
  }
  return {};
}

std::vector<std::size_t> find_in_code(std::string_view text, const TextLines& lines,
                                      std::string_view wanted) {
  std::vector<std::size_t> found;
  std::size_t comment_line = std::string_view::npos;  // start of the line whose comment is known
  std::size_t comment_begin = 0;
  for (auto at = text.find(wanted); at != std::string_view::npos;
       at = text.find(wanted, at + wanted.size())) {
    const auto begin = lines.begin_of(at);
    if (begin != comment_line) {
      const auto line = lines.line_of(at);
      const auto comment = comment_of(line);
      comment_line = begin;
      comment_begin = begin + line.size() - comment.size();
      if (comment.empty()) comment_begin = std::string_view::npos;
    }
    if (at < comment_begin) found.push_back(at);
  }
  return found;
}

std::string comment_near(const Script& script, const Place& place) {
  // Walks back from the place, never over the whole file.
  const std::string_view text = script.text;
  if (place.offset > text.size()) return {};
  const auto end = std::min(text.find('\n', place.offset), text.size());
  const auto before = place.offset == 0 ? std::string_view::npos : text.rfind('\n', place.offset - 1);
  auto begin = before == std::string_view::npos ? 0 : before + 1;
  std::string comment(comment_of(text.substr(begin, end - begin)));
  for (int i = 0; i < 4 && begin > 1; ++i) {  // a comment's last lines name the command below
    const auto previous_end = begin - 1;
    const auto previous = text.rfind('\n', previous_end - 1);
    const auto previous_begin = previous_end == 0 || previous == std::string_view::npos ? 0 : previous + 1;
    const auto line = trim(text.substr(previous_begin, previous_end - previous_begin));
    if (!line.starts_with('#') || line.starts_with("#!") || line.starts_with("#SBATCH")) break;
    comment.insert(0, std::string(line) + " ");
    begin = previous_begin;
  }
  return comment;
}

}  // namespace angio::lint
