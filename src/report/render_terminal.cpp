#include <algorithm>
#include <numeric>

#include "report/document.hpp"
#include "report/shell_lines.hpp"
#include "report/text_layout.hpp"

namespace angio::report {
namespace {

constexpr std::size_t kNarrowestColumn = 8;
constexpr std::size_t kNarrowestText = 16;  // deep indents give way before text gets narrower

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kStrong:
      return "\x1b[1m";
    case Tone::kQuiet:
      return "\x1b[2m";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kCritical:
      return "\x1b[1;31m";
    case Tone::kUnknown:
      return "\x1b[35m";
  }
  return "";
}

using Cells = std::vector<std::vector<Line>>;

class Terminal {
 public:
  explicit Terminal(const TerminalStyle& style)
      : width_(std::max<std::size_t>(style.width, kNarrowestText)),
        colour_(style.colour),
        ascii_(style.ascii) {}

  void operator()(const Heading& heading) { emit_wrapped({}, {{heading.text, Tone::kStrong}}); }

  void operator()(const Paragraph& paragraph) { emit_wrapped({}, paragraph.line); }

  void operator()(const Fields& fields) {
    std::size_t widest = 0;
    for (const auto& [name, line] : fields.rows)
      widest = std::max(widest, display_width(display_text(name, ascii_)));
    const std::size_t room = width_ - kNarrowestText;
    const std::size_t indent = std::min<std::size_t>(fields.indent, room - std::min(room, widest + 2));
    for (const auto& [name, line] : fields.rows) {
      std::string label(indent, ' ');
      label += display_text(name, ascii_);
      const std::size_t used = display_width(label);
      const std::size_t column = std::min(indent + widest + 2, room);
      label += std::string(column > used ? column - used : 1, ' ');
      emit_hanging(label, std::string(column, ' '), line);
    }
  }

  void operator()(const Table& table) {
    if (table.columns.empty()) return;
    const Cells cells = cells_of(table);
    std::vector<std::size_t> widths = widths_of(cells, table.columns.size());
    shrink(cells, widths);
    std::size_t first = 1;
    do {
      std::vector<std::size_t> shown{0};
      std::size_t total = widths[0];
      while (first < widths.size() && (shown.size() == 1 || total + kGap + widths[first] <= width_)) {
        total += kGap + widths[first];
        shown.push_back(first++);
      }
      emit_rows(table, cells, widths, shown);
      if (first < widths.size()) end_line();
    } while (first < widths.size());
  }

  void operator()(const Tree& tree) {
    for (const Tree::Node& root : tree.roots)
      emit_node(root, "", "");
  }

  void operator()(const Preformatted& block) {
    for (const Line& line : block.lines)
      emit(ready(line));
  }

  void operator()(const Drawing&) {}

  void separate() {
    if (!text_.empty()) text_ += '\n';
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t kGap = 2;

  // Text as it will stand: safe, and in the terminal's characters.
  [[nodiscard]] Line ready(const Line& line) const {
    Line shown;
    for (const Span& span : line)
      shown.push_back({display_text(span.text, ascii_), span.tone});
    return shown;
  }

  void emit(const Line& line, std::string_view before = {}) {
    pending_ += before;
    for (const Span& span : line) {
      const std::size_t last = span.text.find_last_not_of(' ');
      if (last == std::string::npos) {
        pending_ += span.text;
        continue;
      }
      const std::string_view escape = colour_ ? escape_of(span.tone) : std::string_view();
      text_ += pending_;
      pending_.clear();
      text_ += escape;
      text_ += span.text.substr(0, last + 1);
      if (!escape.empty()) text_ += "\x1b[0m";
      pending_ = span.text.substr(last + 1);
    }
    end_line();
  }

  // Blanks at the end of a line are never written.
  void end_line() {
    text_ += pending_.substr(0, pending_.find_last_not_of(' ') + 1);
    pending_.clear();
    text_ += '\n';
  }

  [[nodiscard]] std::vector<Line> command_lines(const Span& span, std::size_t room) const {
    std::vector<Line> lines;
    for (const std::string& text : shell_lines(span.text, room))
      lines.push_back({{display_text(text, ascii_), span.tone}});
    return lines;
  }

  void emit_hanging(const std::string& first, const std::string& others, const Line& line) {
    const std::size_t used = std::max(display_width(first), display_width(others));
    const std::size_t room = width_ > used ? width_ - used : 1;
    const std::vector<Line> lines = line.size() == 1 && line.front().command
                                        ? command_lines(line.front(), room)
                                        : wrap(ready(line), room);
    for (std::size_t i = 0; i < lines.size(); ++i)
      emit(lines[i], i == 0 ? first : others);
  }

  void emit_wrapped(const std::string& indent, const Line& line) { emit_hanging(indent, indent, line); }

  void emit_node(const Tree::Node& node, const std::string& first, const std::string& others) {
    const std::string bar = ascii_ ? "|  " : "│  ";
    // Wrapped text leaves room for the branch of the children below it.
    emit_hanging(first, others + (node.children.empty() ? "   " : bar), node.line);
    const bool room = display_width(others) + 3 + kNarrowestText < width_;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const bool last = i + 1 == node.children.size();
      if (!room) {
        emit_node(node.children[i], others, others);
        continue;
      }
      const std::string branch = ascii_ ? (last ? "`- " : "|- ") : (last ? "└─ " : "├─ ");
      emit_node(node.children[i], others + branch, others + (last ? "   " : bar));
    }
  }

  // Titles are row 0.
  [[nodiscard]] Cells cells_of(const Table& table) const {
    Cells cells(1);
    for (const Column& column : table.columns)
      cells[0].push_back(ready({{column.title, Tone::kStrong}}));
    for (const std::vector<Line>& row : table.rows) {
      cells.emplace_back();
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        cells.back().push_back(i < row.size() ? ready(row[i]) : Line{});
      }
    }
    return cells;
  }

  static std::vector<std::size_t> widths_of(const Cells& cells, std::size_t columns) {
    std::vector<std::size_t> widths(columns, 0);
    for (const std::vector<Line>& row : cells) {
      for (std::size_t i = 0; i < columns; ++i)
        widths[i] = std::max(widths[i], display_width(row[i]));
    }
    return widths;
  }

  static std::size_t longest_word(const Cells& cells, std::size_t column) {
    std::size_t longest = kNarrowestColumn;
    for (const std::vector<Line>& row : cells) {
      std::size_t word = 0;
      for (const Span& span : row[column]) {
        for (const char c : span.text) {
          word = c == ' ' ? 0 : word + 1;
          longest = std::max(longest, word);
        }
      }
    }
    return longest;
  }

  // Too wide: the widest columns of words wrap inside their cells. What still does not fit goes into a
  // second table below, under the first column again.
  void shrink(const Cells& cells, std::vector<std::size_t>& widths) const {
    const auto total = [&] {
      return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
    };
    std::vector<std::size_t> least;
    for (std::size_t i = 0; i < widths.size(); ++i)
      least.push_back(std::min(widths[i], longest_word(cells, i)));
    if (std::accumulate(least.begin(), least.end(), kGap * (least.size() - 1)) <= width_) {
      while (total() > width_) {
        std::size_t widest = 0;
        for (std::size_t i = 1; i < widths.size(); ++i) {
          if (widths[i] - least[i] > widths[widest] - least[widest]) widest = i;
        }
        --widths[widest];
      }
    }
    // A single cell must not break the edge either.
    const std::size_t most = widths.size() == 1 ? width_ : (width_ - kGap) / 2;
    if (total() > width_) {
      for (std::size_t& width : widths)
        width = std::min(width, most);
    }
  }

  void emit_rows(const Table& table, const Cells& cells, const std::vector<std::size_t>& widths,
                 const std::vector<std::size_t>& shown) {
    const bool titled =
        std::ranges::any_of(table.columns, [](const Column& column) { return !column.title.empty(); });
    for (std::size_t row = titled ? 0 : 1; row < cells.size(); ++row) {
      std::vector<std::vector<Line>> wrapped;
      std::size_t height = 1;
      for (const std::size_t column : shown) {
        wrapped.push_back(wrap(cells[row][column], widths[column]));
        height = std::max(height, wrapped.back().size());
      }
      for (std::size_t line = 0; line < height; ++line) {
        Line whole;
        for (std::size_t i = 0; i < shown.size(); ++i) {
          const Line cell = line < wrapped[i].size() ? wrapped[i][line] : Line{};
          if (i > 0) whole.push_back({std::string(kGap, ' '), Tone::kPlain});
          align(whole, cell, widths[shown[i]], table.columns[shown[i]].align);
        }
        emit(whole);
      }
    }
  }

  static void align(Line& whole, const Line& cell, std::size_t width, Align how) {
    const std::size_t used = display_width(cell);
    const std::size_t spare = width > used ? width - used : 0;
    const std::size_t before = how == Align::kRight ? spare : how == Align::kCentre ? spare / 2 : 0;
    whole.push_back({std::string(before, ' '), Tone::kPlain});
    whole.insert(whole.end(), cell.begin(), cell.end());
    whole.push_back({std::string(spare - before, ' '), Tone::kPlain});
  }

  std::size_t width_;
  bool colour_;
  bool ascii_;
  std::string text_;
  std::string pending_;  // blanks that may turn out to end the line
};

// A heading stands on its block, fields under the paragraph they belong to; all else is set apart.
bool belongs_to(const Block& block, const Block& before) {
  if (std::holds_alternative<Heading>(before)) return !std::holds_alternative<Heading>(block);
  return std::holds_alternative<Fields>(block) && std::holds_alternative<Paragraph>(before);
}

}  // namespace

std::string render_terminal(const Document& document, const TerminalStyle& style) {
  Terminal terminal(style);
  if (!document.title.empty()) terminal(Heading{document.title, 1});
  const Block* before = nullptr;
  for (const Block& block : document.blocks) {
    if (std::holds_alternative<Drawing>(block)) continue;
    if (before != nullptr && !belongs_to(block, *before)) terminal.separate();
    std::visit(terminal, block);
    before = &block;
  }
  return terminal.take();
}

}  // namespace angio::report
