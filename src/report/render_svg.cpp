#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "report/document.hpp"
#include "report/markup.hpp"
#include "report/text_layout.hpp"

namespace angio::report {
namespace {

// Plain class rules, no variables: slide programs and converters read these, and not var().
constexpr std::string_view kStyle = R"(
.angio-drawing { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
.angio-drawing text { fill: #1d2733; }
.angio-drawing text.halo { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; }
.angio-drawing .sheet { fill: #ffffff; }
.angio-drawing .box { fill: #f7f8fa; stroke: #a9b4c0; stroke-width: 1; }
.angio-drawing .package { fill: #f1f4f7; stroke: #b7c2cd; }
.angio-drawing .numa { fill: #ffffff; stroke: #9caab8; }
.angio-drawing .switch { fill: #dfe6ed; stroke: #8496a8; }
.angio-drawing .gpu { fill: #e7f3dc; stroke: #6d9646; stroke-width: 1.5; }
.angio-drawing .nic { fill: #e2edf9; stroke: #5783b5; stroke-width: 1.5; }
.angio-drawing .storage { fill: #f1ecf8; stroke: #9480b3; }
.angio-drawing .nvlink { fill: #d3e8bf; stroke: #6d9646; }
.angio-drawing .link { fill: none; stroke: #8496a8; stroke-linejoin: round; stroke-linecap: round; }
.angio-drawing .link.nvlink { stroke: #7fab55; fill: none; }
.angio-drawing .link.network { stroke: #5783b5; }
.angio-drawing .link.interconnect { stroke: #6b7887; }
.angio-drawing .link.trunk { stroke: #b9c5d0; }
.angio-drawing .link.dense { stroke: #d8e0e7; }
.angio-drawing .host { fill: #f0f5fa; stroke: #c3d2e1; }
.angio-drawing text.strong { font-weight: 650; }
.angio-drawing text.quiet { fill: #5b6875; }
.angio-drawing text.good { fill: #3d6b1b; }
.angio-drawing text.warning { fill: #8a5200; font-weight: 650; }
.angio-drawing text.critical { fill: #b3201c; font-weight: 650; }
.angio-drawing text.unknown { fill: #6e7781; font-style: italic; }
.angio-drawing .box.warning, .angio-drawing .link.warning { stroke: #b56a00; }
.angio-drawing .box.critical { stroke: #c62828; stroke-width: 2.5; fill: #fdeceb; }
.angio-drawing .link.critical { stroke: #c62828; }
.angio-drawing .box.unknown { stroke: #9aa2ab; stroke-dasharray: 4 3; fill: #f0f1f2; }
.angio-drawing .link.unknown { stroke: #a7aeb6; }
.angio-drawing .cell { fill: #c6d8ea; stroke: none; }
.angio-drawing .cell.warning { fill: #e08a00; }
.angio-drawing .cell.critical { fill: #c62828; }
.angio-drawing .cell.unknown { fill: #b9bfc5; }
.angio-drawing .box.ring { fill: none; stroke-width: 1.6; }
.angio-drawing .box.heat { stroke: none; rx: 0; }
.angio-drawing .box.h0 { fill: #dde7ee; }
.angio-drawing .box.h1 { fill: #f5dfae; }
.angio-drawing .box.h2 { fill: #f0b76d; }
.angio-drawing .box.h3 { fill: #e2823f; }
.angio-drawing .box.h4 { fill: #c9402f; }
.angio-drawing .box.h5 { fill: #8f1d19; }
.angio-drawing .box.hx { fill: #45131b; }
.angio-drawing .box.hu { fill: #b8bfc6; }
.angio-drawing .link.grid { stroke: #dbe1e7; }
.angio-drawing .link.band { fill: #dfeed1; stroke: none; }
.angio-drawing .link.expected { stroke: #6d9646; }
.angio-drawing .link.s0, .angio-drawing .dot.s0 { stroke: #2f6db3; }
.angio-drawing .link.s1, .angio-drawing .dot.s1 { stroke: #7a3fa0; }
.angio-drawing .link.s2, .angio-drawing .dot.s2 { stroke: #00798c; }
.angio-drawing .link.s3, .angio-drawing .dot.s3 { stroke: #8a5a2b; }
.angio-drawing .link.s4, .angio-drawing .dot.s4 { stroke: #54616e; }
.angio-drawing .link.s5, .angio-drawing .dot.s5 { stroke: #a03c6e; }
.angio-drawing .dot { fill: #ffffff; stroke-width: 1.6; }
.angio-drawing .dot.warning { fill: #ffb13d; stroke: #8a5200; }
.angio-drawing .dot.critical { fill: #c62828; stroke: #7d1412; }
@media (prefers-color-scheme: dark) {
.angio-drawing text { fill: #e4e9ee; }
.angio-drawing text.halo { stroke: #14181d; }
.angio-drawing .sheet { fill: #14181d; }
.angio-drawing .box { fill: #1b2026; stroke: #4a5561; }
.angio-drawing .package { fill: #1a1f25; stroke: #3f4953; }
.angio-drawing .numa { fill: #20262d; stroke: #56626e; }
.angio-drawing .switch { fill: #323c47; stroke: #71808f; }
.angio-drawing .gpu { fill: #263a18; stroke: #7fae52; }
.angio-drawing .nic { fill: #1b3048; stroke: #6a9bd2; }
.angio-drawing .storage { fill: #2e2640; stroke: #9c88bf; }
.angio-drawing .nvlink { fill: #314d1d; stroke: #7fae52; }
.angio-drawing .link { stroke: #71808f; }
.angio-drawing .link.nvlink { stroke: #7fae52; }
.angio-drawing .link.network { stroke: #6a9bd2; }
.angio-drawing .link.trunk { stroke: #3d4a57; }
.angio-drawing .link.dense { stroke: #29333d; }
.angio-drawing .host { fill: #1b2733; stroke: #35495d; }
.angio-drawing text.quiet { fill: #a3afba; }
.angio-drawing text.good { fill: #9ccf6c; }
.angio-drawing text.warning { fill: #f0b35a; }
.angio-drawing text.critical { fill: #ff8b85; }
.angio-drawing text.unknown { fill: #9aa5b0; }
.angio-drawing .box.warning, .angio-drawing .link.warning { stroke: #d69530; }
.angio-drawing .box.critical { stroke: #ff6b63; fill: #45201f; }
.angio-drawing .link.critical { stroke: #ff6b63; }
.angio-drawing .box.unknown { stroke: #707a85; fill: #262b31; }
.angio-drawing .box.h0 { fill: #25323d; }
.angio-drawing .box.h1 { fill: #665728; }
.angio-drawing .box.h2 { fill: #97642a; }
.angio-drawing .box.h3 { fill: #c9652f; }
.angio-drawing .box.h4 { fill: #e4533f; }
.angio-drawing .box.h5 { fill: #ff8578; }
.angio-drawing .box.hx { fill: #ffd9d4; }
.angio-drawing .box.hu { fill: #5a636d; }
.angio-drawing .cell { fill: #2b4763; stroke: none; }
.angio-drawing .cell.warning { fill: #d69530; }
.angio-drawing .cell.critical { fill: #ff6b63; }
.angio-drawing .cell.unknown { fill: #565f69; }
.angio-drawing .box.ring { fill: none; }
.angio-drawing .link.grid { stroke: #2c343d; }
.angio-drawing .link.band { fill: #26371a; }
.angio-drawing .link.expected { stroke: #7fae52; }
.angio-drawing .link.s0, .angio-drawing .dot.s0 { stroke: #7db4f0; }
.angio-drawing .link.s1, .angio-drawing .dot.s1 { stroke: #c79be6; }
.angio-drawing .link.s2, .angio-drawing .dot.s2 { stroke: #5cc7d6; }
.angio-drawing .link.s3, .angio-drawing .dot.s3 { stroke: #d9a873; }
.angio-drawing .link.s4, .angio-drawing .dot.s4 { stroke: #a3afba; }
.angio-drawing .link.s5, .angio-drawing .dot.s5 { stroke: #e08fb6; }
.angio-drawing .dot { fill: #14181d; }
.angio-drawing .dot.warning { fill: #d69530; stroke: #ffd28a; }
.angio-drawing .dot.critical { fill: #ff6b63; stroke: #ffc9c5; }
}
)";

constexpr double kTitleSize = 12;
// Mean advance of system fonts in their own size; titles that would not fit are shortened by it.
constexpr double kAdvance = 0.57;

double finite(double value) {
  return std::isfinite(value) ? std::round(value * 100) / 100 : 0;
}

std::string classes(std::string_view base, const std::string& kind, Tone tone) {
  std::string all(base);
  if (!kind.empty()) all += " " + escape_markup(kind);
  if (tone != Tone::kPlain) all += (all.empty() ? "" : " ") + std::string(tone_class(tone));
  return all;
}

class Svg {
 public:
  explicit Svg(const Drawing& drawing) {
    const double width = finite(drawing.width);
    const double height = finite(drawing.height);
    out("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"angio-drawing\" role=\"img\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n",
        width, height);
    if (!drawing.title.empty()) out("<title>{}</title>\n", escape_markup(drawing.title));
    if (!drawing.description.empty()) out("<desc>{}</desc>\n", escape_markup(drawing.description));
    out("<style>{}</style>\n", kStyle);
    out("<rect class=\"sheet\" width=\"{}\" height=\"{}\"/>\n", width, height);
  }

  void operator()(const Box& box) {
    open_group(box.tooltip);
    out("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
        classes("box", box.kind, box.tone), finite(box.x), finite(box.y), finite(box.width),
        finite(box.height), box.kind == "cell" ? 1 : 5);
    if (!box.title.empty()) {
      const double room = std::max(0.0, finite(box.width) - 14) / (kTitleSize * kAdvance);
      const std::string title = shorten(box.title, static_cast<std::size_t>(room));
      const Tone tone = box.tone == Tone::kPlain ? Tone::kStrong : box.tone;
      text(box.x + 7, box.y + 16, kTitleSize, "start", tone, title);
    }
    out("</g>\n");
  }

  void operator()(const Connector& connector) {
    if (connector.points.size() < 2) return;
    open_group(connector.tooltip);
    out("<polyline class=\"{}\" stroke-width=\"{}\"", classes("link", connector.kind, connector.tone),
        finite(connector.width));
    if (connector.dashed) out(" stroke-dasharray=\"6 4\"");
    out(" points=\"");
    for (std::size_t i = 0; i < connector.points.size(); ++i) {
      out("{}{},{}", i == 0 ? "" : " ", finite(connector.points[i].first),
          finite(connector.points[i].second));
    }
    out("\"/></g>\n");
  }

  void operator()(const Label& label) {
    const char* anchor = label.align == Align::kRight    ? "end"
                         : label.align == Align::kCentre ? "middle"
                                                         : "start";
    text(label.x, label.y, label.size, anchor, label.tone, label.text, label.halo);
    out("\n");
  }

  std::string finish() {
    out("</svg>\n");
    return std::move(text_);
  }

 private:
  template <typename... Arguments>
  void out(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  void open_group(const std::string& tooltip) {
    out("<g>");
    if (!tooltip.empty()) out("<title>{}</title>", escape_markup(tooltip));
  }

  void text(double x, double y, double size, std::string_view anchor, Tone tone, const std::string& content,
            bool halo = false) {
    if (content.empty()) return;
    out("<text x=\"{}\" y=\"{}\" font-size=\"{}\"", finite(x), finite(y), finite(size));
    if (anchor != "start") out(" text-anchor=\"{}\"", anchor);
    const std::string style = classes(halo ? "halo" : "", {}, tone);
    if (!style.empty()) out(" class=\"{}\"", style);
    out(">{}</text>", escape_markup(content));
  }

  std::string text_;
};

}  // namespace

std::string render_svg(const Drawing& drawing) {
  Svg svg(drawing);
  for (const Shape& shape : drawing.shapes)
    std::visit(svg, shape);
  return svg.finish();
}

}  // namespace angio::report
