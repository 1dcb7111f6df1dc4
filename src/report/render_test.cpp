#include <gtest/gtest.h>

#include <limits>

#include "report/document.hpp"
#include "report/text_layout.hpp"

namespace angio::report {
namespace {

std::string terminal(Block block, TerminalStyle style = {}) {
  Document document;
  document.blocks.push_back(std::move(block));
  return render_terminal(document, style);
}

TerminalStyle narrow(std::uint32_t width, bool ascii = false) {
  return {width, false, ascii};
}

TEST(TextLayout, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width("├─ é"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);     // combining acute
  EXPECT_EQ(display_width("\xE4\xB8\xAD"), 2U);  // a CJK character
  EXPECT_EQ(display_width("\xF0\x9F\x98\x80"), 2U);
  EXPECT_EQ(display_width("\xE4"), 1U);  // cut off
}

TEST(TextLayout, ShortenKeepsTheWidth) {
  EXPECT_EQ(shorten("mlx5_10", 7), "mlx5_10");
  EXPECT_EQ(shorten("mlx5_10", 5), "mlx5…");
  EXPECT_EQ(shorten("mlx5_10", 5, true), "mlx5~");
  EXPECT_EQ(shorten("mlx5_10", 0), "");
}

TEST(RenderTerminal, WrapsAtBlanksAndBreaksLongWords) {
  EXPECT_EQ(terminal(Paragraph{plain("one two three four five")}, narrow(16)), "one two three\nfour five\n");
  EXPECT_EQ(terminal(Paragraph{plain("/sys/bus/pci/devices/0000:1b:00.0")}, narrow(16)),
            "/sys/bus/pci/dev\nices/0000:1b:00.\n0\n");
}

TEST(RenderTerminal, KeepsTonesAcrossWrapping) {
  const Line line{{"plain ", Tone::kPlain}, {"one two three", Tone::kCritical}};
  EXPECT_EQ(terminal(Paragraph{line}, {16, true, false}),
            "plain \x1b[1;31mone two\x1b[0m\n\x1b[1;31mthree\x1b[0m\n");
}

TEST(RenderTerminal, NoColourWritesNoEscapes) {
  EXPECT_EQ(terminal(Paragraph{toned("bad", Tone::kCritical)}), "bad\n");
}

TEST(RenderTerminal, FieldsHangUnderThemselves) {
  Fields fields;
  fields.indent = 2;
  fields.rows = {{"seen", plain("a line that is longer than the rest")}, {"fix", plain("none")}};
  EXPECT_EQ(terminal(fields, narrow(28)),
            "  seen  a line that is\n        longer than the rest\n  fix   none\n");
}

TEST(RenderTerminal, TreeBranchesInBothCharacterSets) {
  Tree tree;
  tree.roots.push_back(
      {plain("machine"), {{plain("node 0"), {{plain("GPU 0"), {}}}}, {plain("node 1"), {}}}});
  EXPECT_EQ(terminal(tree), "machine\n├─ node 0\n│  └─ GPU 0\n└─ node 1\n");
  EXPECT_EQ(terminal(tree, narrow(80, true)), "machine\n|- node 0\n|  `- GPU 0\n`- node 1\n");
}

TEST(RenderTerminal, TableAlignsAndLeavesNoTrailingBlanks) {
  Table table;
  table.columns = {{"", Align::kLeft}, {"GPU 0", Align::kCentre}, {"n", Align::kRight}};
  table.rows = {{plain("GPU 0"), plain("X"), plain("1")}, {plain("GPU 1"), plain("NV18"), {}}};
  EXPECT_EQ(terminal(table), "       GPU 0  n\nGPU 0    X    1\nGPU 1  NV18\n");
}

TEST(RenderTerminal, WideTableWrapsWordsFirst) {
  Table table;
  table.columns = {{"name", Align::kLeft}, {"meaning", Align::kLeft}};
  table.rows = {{plain("PIX"), plain("one PCIe switch or bridge at most")}};
  EXPECT_EQ(terminal(table, narrow(24)), "name  meaning\nPIX   one PCIe switch or\n      bridge at most\n");
}

TEST(RenderTerminal, TableOfManyColumnsContinuesBelow) {
  Table table;
  table.columns = {{"", Align::kLeft}};
  table.rows = {{plain("GPU 0")}};
  for (int i = 0; i < 4; ++i) {
    table.columns.push_back({"mlx5_" + std::to_string(i), Align::kLeft});
    table.rows[0].push_back(plain("NODE"));
  }
  EXPECT_EQ(terminal(table, narrow(24)),
            "       mlx5_0  mlx5_1\nGPU 0  NODE    NODE\n\n       mlx5_2  mlx5_3\nGPU 0  NODE    NODE\n");
}

TEST(RenderTerminal, HostileTextStaysText) {
  EXPECT_EQ(terminal(Paragraph{plain("a\x1b[31mb\x07")}), "a\\x1b[31mb\\x07\n");
}

TEST(RenderTerminal, AsciiHasStandIns) {
  EXPECT_EQ(terminal(Paragraph{plain("0 → 1 – 2× é")}, narrow(80, true)), "0 -> 1 - 2x ?\n");
}

TEST(RenderTerminal, BlocksStandApartHeadingsOnTheirBlock) {
  Document document;
  document.title = "T";
  document.blocks = {Heading{"H", 2}, Paragraph{plain("p")}, Fields{{{"a", plain("b")}}, 2}, Drawing{},
                     Paragraph{plain("q")}};
  EXPECT_EQ(render_terminal(document, {}), "T\nH\np\n  a  b\n\nq\n");
}

TEST(RenderTerminal, DeepTreeStaysInsideTheWidth) {
  Tree::Node node{plain("leaf with some words"), {}};
  for (int i = 0; i < 60; ++i)
    node = Tree::Node{plain("level with some words"), {node}};
  Tree tree;
  tree.roots.push_back(node);
  std::size_t widest = 0;
  const std::string text = terminal(tree, narrow(60));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    widest = std::max(widest, display_width(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  EXPECT_LE(widest, 60U);
}

TEST(RenderHtml, IsOneSelfContainedEscapedPage) {
  Document document;
  document.title = "a <b> & \"c\"";
  Table table;
  table.columns = {{"x", Align::kRight}};
  table.rows = {{toned("<script>alert('1')</script>", Tone::kCritical)}};
  document.blocks = {Heading{"Links", 1}, table, Tree{{{plain("root"), {{plain("leaf"), {}}}}}}};
  const std::string html = render_html(document);
  EXPECT_NE(html.find("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"), std::string::npos);
  EXPECT_NE(html.find("<span class=\"critical\">&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;</span>"),
            std::string::npos);
  EXPECT_NE(html.find("<h2>Links</h2>"), std::string::npos);
  EXPECT_NE(html.find("aria-label=\"Links\""), std::string::npos);
  EXPECT_NE(html.find("<li>root\n<ul>\n<li>leaf</li>\n</ul>\n</li>"), std::string::npos);
  for (const char* outside : {"http://", "https://", "<script", "url(", "@import"}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
}

TEST(RenderSvg, EscapesAndShortensTitles) {
  Drawing drawing{100, 50, "a & b", "d", {}};
  drawing.shapes.push_back(
      Box{1, 2, 40, 20, "a long title that cannot fit", "<tip>", Tone::kCritical, "gpu"});
  drawing.shapes.push_back(Connector{{{0, 0}, {10, 10.126}}, 2, Tone::kCritical, true, "", "pcie"});
  drawing.shapes.push_back(Label{5, 6, "x<y", Tone::kQuiet, Align::kCentre, 10});
  const std::string svg = render_svg(drawing);
  EXPECT_NE(svg.find("<title>a &amp; b</title>"), std::string::npos);
  EXPECT_NE(svg.find("<title>&lt;tip&gt;</title>"), std::string::npos);
  EXPECT_NE(svg.find("class=\"box gpu critical\" x=\"1\" y=\"2\" width=\"40\" height=\"20\""),
            std::string::npos);
  EXPECT_NE(svg.find("…</text>"), std::string::npos);
  EXPECT_NE(svg.find("stroke-dasharray=\"6 4\" points=\"0,0 10,10.13\""), std::string::npos);
  EXPECT_NE(svg.find("text-anchor=\"middle\" class=\"quiet\">x&lt;y</text>"), std::string::npos);
}

TEST(RenderSvg, NumbersThatAreNoneBecomeZero) {
  Drawing drawing{100, 50, "", "", {}};
  drawing.shapes.push_back(Label{std::numeric_limits<double>::quiet_NaN(), 1, "x", {}, {}, 12});
  EXPECT_NE(render_svg(drawing).find("<text x=\"0\" y=\"1\""), std::string::npos);
}

TEST(RenderSvg, LabelOverLinesHasAHalo) {
  Drawing drawing{100, 50, "", "", {}};
  Label label{5, 6, "NV2", Tone::kQuiet, Align::kCentre, 10};
  label.halo = true;
  drawing.shapes.push_back(label);
  EXPECT_NE(render_svg(drawing).find("class=\"halo quiet\">NV2</text>"), std::string::npos);
}

std::string wrapped(const std::string& text, std::uint32_t width) {
  Document document;
  document.blocks.emplace_back(Paragraph{plain(text)});
  return render_terminal(document, {width, false, true});
}

TEST(RenderTerminal, NumberKeepsItsUnit) {
  EXPECT_EQ(wrapped("the port runs at 400 Gb/s, all", 22), "the port runs at\n400 Gb/s, all\n");
  EXPECT_EQ(wrapped("the link is x8, could be x16.", 26), "the link is x8, could\nbe x16.\n");
  EXPECT_EQ(wrapped("the port runs at 400 lanes", 22), "the port runs at 400\nlanes\n");
}

TEST(RenderTerminal, UnitThatCannotStayIsWrapped) {
  EXPECT_EQ(wrapped("1234567890123456789 Gb/s", 20), "1234567890123456789\nGb/s\n");
}

}  // namespace
}  // namespace angio::report
