// What Angio shows, before it is shown: blocks of text, tables, trees and drawings, with tones but no
// colours, escapes or tags. Views build it; the renderers turn it into a terminal's text, HTML or SVG.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace angio::report {

// Meaning, not colour. On a terminal and in HTML tone is never the only carrier of a fact.
enum class Tone : std::uint8_t { kPlain, kStrong, kQuiet, kGood, kWarning, kCritical, kUnknown };

struct Span {
  std::string text;
  Tone tone = Tone::kPlain;
  bool command = false;  // of a shell; alone on its line it is shown so that it can be copied
};
using Line = std::vector<Span>;

inline Line plain(std::string text) {
  return {Span{std::move(text), Tone::kPlain}};
}
inline Line toned(std::string text, Tone tone) {
  return {Span{std::move(text), tone}};
}

inline Line command(std::string text) {
  return {Span{std::move(text), Tone::kStrong, true}};
}

struct Heading {
  std::string text;
  std::uint8_t level = 1;
};

struct Paragraph {
  Line line;  // wrapped to the width
};

// Label and text pairs, aligned, long text wrapped under itself: the body of a finding.
struct Fields {
  std::vector<std::pair<std::string, Line>> rows;
  std::uint32_t indent = 10;
};

enum class Align : std::uint8_t { kLeft, kRight, kCentre };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Line>> rows;
};

// A tree; renderers draw the branches ("├─" or "|-").
struct Tree {
  struct Node {
    Line line;
    std::vector<Node> children;
  };
  std::vector<Node> roots;
};

// Fixed-pitch lines, as they are.
struct Preformatted {
  std::vector<Line> lines;
};

// A picture in its own units (CSS pixels). Shapes are drawn in order.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  std::string title;  // drawn in the top left corner
  std::string tooltip;
  Tone tone = Tone::kPlain;
  std::string kind;  // "package", "numa", "switch", "gpu", "nic": the style class
};
struct Connector {
  std::vector<std::pair<double, double>> points;
  double width = 1;
  Tone tone = Tone::kPlain;
  bool dashed = false;
  std::string tooltip;
  std::string kind;  // "pcie", "nvlink", "network", "interconnect"
};
struct Label {
  double x = 0, y = 0;
  std::string text;
  Tone tone = Tone::kPlain;
  Align align = Align::kLeft;
  double size = 12;
  bool halo = false;  // keeps lines that pass behind from touching the letters
};
using Shape = std::variant<Box, Connector, Label>;

struct Drawing {
  double width = 0, height = 0;
  std::string title;  // for readers of the accessible tree
  std::string description;
  std::vector<Shape> shapes;
};

using Block = std::variant<Heading, Paragraph, Fields, Table, Tree, Preformatted, Drawing>;

struct Document {
  std::string title;
  std::vector<Block> blocks;
};

struct TerminalStyle {
  std::uint32_t width = 80;
  bool colour = false;
  bool ascii = false;  // no box-drawing characters
};

// Drawings are left out on a terminal: their view adds a text form.
std::string render_terminal(const Document& document, const TerminalStyle& style);
// One self-contained page: no external resources, light and dark.
std::string render_html(const Document& document);
std::string render_svg(const Drawing& drawing);

}  // namespace angio::report
