// Edits applied to text, and the difference of two texts as a unified diff.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "lint/lint.hpp"

namespace angio::lint {
namespace {

std::vector<Edit> edits_of(const Script& script, const std::vector<Complaint>& complaints) {
  std::vector<Edit> edits;
  for (const Complaint& complaint : complaints) {
    if (complaint.file != script.name) continue;
    for (const Edit& edit : complaint.fix) {
      if (edit.offset <= script.text.size() && edit.length <= script.text.size() - edit.offset)
        edits.push_back(edit);
    }
  }
  // The complaints come in the order of the file; equal places keep it.
  std::ranges::stable_sort(edits, {}, &Edit::offset);
  return edits;
}

struct Lines {
  std::vector<std::string_view> lines;
  bool ends_with_line_feed = true;
};

Lines lines_of(std::string_view text) {
  Lines result;
  result.ends_with_line_feed = text.empty() || text.ends_with('\n');
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (!text.empty() || !result.ends_with_line_feed) result.lines = split(text, '\n');
  return result;
}

// A run of lines that differ: before[a, a + removed) became after[b, b + added).
struct Change {
  std::size_t before = 0;
  std::size_t removed = 0;
  std::size_t after = 0;
  std::size_t added = 0;
};

// Where the two meet again behind a difference: the nearest pair of equal lines, looked for within a window.
std::pair<std::size_t, std::size_t> meet(const Lines& a, std::size_t i, const Lines& b, std::size_t k) {
  constexpr std::size_t kWindow = 64;
  for (std::size_t sum = 1; sum <= 2 * kWindow; ++sum) {
    for (std::size_t skip = 0; skip <= sum; ++skip) {
      const std::size_t x = i + skip;
      const std::size_t y = k + sum - skip;
      if (x >= a.lines.size() && y >= b.lines.size()) return {a.lines.size(), b.lines.size()};
      if (x < a.lines.size() && y < b.lines.size() && a.lines[x] == b.lines[y]) return {x, y};
    }
  }
  return {a.lines.size(), b.lines.size()};
}

std::vector<Change> changes_of(const Lines& a, const Lines& b) {
  std::vector<Change> changes;
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < a.lines.size() || k < b.lines.size()) {
    const bool last_line = i + 1 == a.lines.size() && k + 1 == b.lines.size();
    const bool equal = i < a.lines.size() && k < b.lines.size() && a.lines[i] == b.lines[k] &&
                       (!last_line || a.ends_with_line_feed == b.ends_with_line_feed);
    if (equal) {
      ++i;
      ++k;
      continue;
    }
    const auto [x, y] = meet(a, i, b, k);
    changes.push_back({i, x - i, k, y - k});
    i = x;
    k = y;
  }
  return changes;
}

constexpr std::size_t kContext = 3;

std::string range_text(std::size_t begin, std::size_t count) {
  if (count == 1) return fmt::format("{}", begin + 1);
  return fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

void add_line(std::string& text, char sign, const Lines& lines, std::size_t index) {
  text += sign;
  text += lines.lines[index];
  text += '\n';
  if (index + 1 == lines.lines.size() && !lines.ends_with_line_feed) text += "\\ No newline at end of file\n";
}

// Changes so near that their context touches share a hunk.
void add_hunk(std::string& text, const Lines& a, const Lines& b, std::span<const Change> changes) {
  const Change& first = changes.front();
  const Change& last = changes.back();
  const std::size_t lead = std::min({kContext, first.before, first.after});
  const std::size_t begin = first.before - lead;
  const std::size_t end = std::min(last.before + last.removed + kContext, a.lines.size());
  const std::size_t begin_after = first.after - lead;
  const std::size_t end_after =
      std::min(last.after + last.added + (end - last.before - last.removed), b.lines.size());
  text += fmt::format("@@ -{} +{} @@\n", range_text(begin, end - begin),
                      range_text(begin_after, end_after - begin_after));
  std::size_t line = begin;
  for (const Change& change : changes) {
    for (; line < change.before; ++line)
      add_line(text, ' ', a, line);
    for (; line < change.before + change.removed; ++line)
      add_line(text, '-', a, line);
    for (std::size_t i = 0; i < change.added; ++i)
      add_line(text, '+', b, change.after + i);
  }
  for (; line < end; ++line)
    add_line(text, ' ', a, line);
}

}  // namespace

std::string apply_fixes(const Script& script, const std::vector<Complaint>& complaints) {
  std::string text;
  std::size_t position = 0;
  for (const Edit& edit : edits_of(script, complaints)) {
    if (edit.offset < position) continue;  // overlaps one that stands before it
    text.append(script.text, position, edit.offset - position);
    text += edit.replacement;
    position = edit.offset + edit.length;
  }
  text.append(script.text, position);
  return text;
}

std::string diff_text(std::string_view name, std::string_view before, std::string_view after) {
  if (before == after) return {};
  const Lines a = lines_of(before);
  const Lines b = lines_of(after);
  const std::vector<Change> changes = changes_of(a, b);
  std::string text = fmt::format("--- {0}\n+++ {0}\n", name);
  for (std::size_t i = 0; i < changes.size();) {
    std::size_t last = i;
    while (last + 1 < changes.size() &&
           changes[last + 1].before - (changes[last].before + changes[last].removed) <= 2 * kContext) {
      ++last;
    }
    add_hunk(text, a, b, std::span(changes).subspan(i, last - i + 1));
    i = last + 1;
  }
  return text;
}

}  // namespace angio::lint
