#include <algorithm>
#include <string>

#include "report/document.hpp"
#include "report/markup.hpp"

namespace angio::report {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2733; --soft: #55626f; --paper: #ffffff; --line: #d3dae1;
  --shade: #f3f5f8; --good: #2f6a12; --warning: #8a5200; --critical: #b3201c; --unknown: #67707a; --focus: #1a5fb4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #a3afba; --paper: #14181d; --line: #353e48;
  --shade: #1d232a; --good: #9ccf6c; --warning: #f0b35a; --critical: #ff8b85; --unknown: #9aa5b0; --focus: #78aeed; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 104rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
p { margin: .5rem 0; max-width: 72rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .4rem 0 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: .5rem 0 1rem; }
.scroll:focus-visible, a:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { border-bottom-width: 2px; } tbody th { font-weight: 600; }
.right { text-align: right; } .centre { text-align: center; }
pre { background: var(--shade); padding: .7rem 1rem; border-radius: 4px; overflow-x: auto;
  font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
code { font: .93em ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; }
ul.tree, ul.tree ul { list-style: none; margin: 0; padding-left: 1.2rem; }
ul.tree { padding-left: 0; } ul.tree ul { border-left: 1px solid var(--line); margin-left: .3rem; }
ul.tree li { padding: .08rem 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
.strong { font-weight: 650; } .quiet { color: var(--soft); } .good { color: var(--good); }
.warning { color: var(--warning); font-weight: 600; } .critical { color: var(--critical); font-weight: 650; }
.unknown { color: var(--unknown); font-style: italic; }
@media print { body { padding: 0; max-width: none; font-size: 10pt; } .scroll { overflow: visible; }
  figure, table, li, dl { break-inside: avoid; } h2, h3 { break-after: avoid; }
  pre { white-space: pre-wrap; } }
)";

std::string_view align_class(Align align) {
  if (align == Align::kRight) return " class=\"right\"";
  return align == Align::kCentre ? " class=\"centre\"" : "";
}

class Html {
 public:
  explicit Html(const std::string& title) {
    const std::string safe = escape_markup(title);
    text_ += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    text_ += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    text_ += "<title>" + safe + "</title>\n<style>";
    text_ += kStyle;
    text_ += "</style>\n</head>\n<body>\n<main>\n";
    if (!safe.empty()) text_ += "<h1>" + safe + "</h1>\n";
  }

  void operator()(const Heading& heading) {
    // The page's title is the one h1.
    const char level = static_cast<char>('1' + std::clamp<int>(heading.level, 1, 4));
    caption_ = heading.text;
    text_ += std::string("<h") + level + ">" + escape_markup(heading.text) + "</h" + level + ">\n";
  }

  void operator()(const Paragraph& paragraph) {
    text_ += "<p>";
    line(paragraph.line);
    text_ += "</p>\n";
  }

  void operator()(const Fields& fields) {
    text_ += "<dl>\n";
    for (const auto& [name, content] : fields.rows) {
      text_ += "<dt>" + escape_markup(name) + "</dt><dd>";
      line(content);
      text_ += "</dd>\n";
    }
    text_ += "</dl>\n";
  }

  void operator()(const Table& table) {
    open_scroll();
    text_ += "<table>\n";
    if (std::ranges::any_of(table.columns, [](const Column& column) { return !column.title.empty(); })) {
      text_ += "<thead><tr>";
      for (const Column& column : table.columns) {
        text_ += "<th scope=\"col\"";
        text_ += align_class(column.align);
        text_ += ">" + escape_markup(column.title) + "</th>";
      }
      text_ += "</tr></thead>\n";
    }
    text_ += "<tbody>\n";
    for (const auto& row : table.rows)
      table_row(table, row);
    text_ += "</tbody></table></div>\n";
  }

  void operator()(const Tree& tree) {
    text_ += "<ul class=\"tree\">\n";
    for (const Tree::Node& root : tree.roots)
      node(root);
    text_ += "</ul>\n";
  }

  void operator()(const Preformatted& block) {
    text_ += "<pre tabindex=\"0\">";
    for (const Line& each : block.lines) {
      line(each);
      text_ += '\n';
    }
    text_ += "</pre>\n";
  }

  void operator()(const Drawing& drawing) { text_ += "<figure>\n" + render_svg(drawing) + "</figure>\n"; }

  std::string finish() {
    text_ += "</main>\n</body>\n</html>\n";
    return std::move(text_);
  }

 private:
  void line(const Line& spans) {
    for (const Span& span : spans) {
      const std::string_view tone = tone_class(span.tone);
      if (!tone.empty()) text_ += "<span class=\"" + std::string(tone) + "\">";
      if (span.command) text_ += "<code>";
      text_ += escape_markup(span.text);
      if (span.command) text_ += "</code>";
      if (!tone.empty()) text_ += "</span>";
    }
  }

  // Wide tables scroll by themselves; tabindex lets the keyboard scroll them.
  void open_scroll() {
    text_ += "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"";
    text_ += caption_.empty() ? "table" : escape_markup(caption_);
    text_ += "\">";
  }

  void table_row(const Table& table, const std::vector<Line>& row) {
    text_ += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      text_ += i == 0 ? "<th scope=\"row\"" : "<td";
      text_ += align_class(table.columns[i].align);
      text_ += '>';
      if (i < row.size()) line(row[i]);
      text_ += i == 0 ? "</th>" : "</td>";
    }
    text_ += "</tr>\n";
  }

  void node(const Tree::Node& tree_node) {
    text_ += "<li>";
    line(tree_node.line);
    if (!tree_node.children.empty()) {
      text_ += "\n<ul>\n";
      for (const Tree::Node& child : tree_node.children)
        node(child);
      text_ += "</ul>\n";
    }
    text_ += "</li>\n";
  }

  std::string text_;
  std::string caption_;
};

}  // namespace

std::string render_html(const Document& document) {
  Html html(document.title);
  for (const Block& block : document.blocks)
    std::visit(html, block);
  return html.finish();
}

}  // namespace angio::report
