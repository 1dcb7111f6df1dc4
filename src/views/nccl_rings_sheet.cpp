#include "views/nccl_rings_sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"

namespace angio::views {
namespace {

using namespace sheet;  // NOLINT(google-build-using-namespace): its own sizes
using report::Align;
using report::Box;
using report::Connector;
using report::Drawing;
using report::Label;
using report::Tone;

std::string gpu_tooltip(const Hops& hops, std::uint32_t rank) {
  const std::string& host = hops.host(rank);
  return fmt::format("rank {}{}{}", rank, host.empty() ? "" : " on " + host,
                     hops.gpu(rank).empty() ? "" : ", " + hops.gpu(rank));
}

Connector arrow(const Connector& of, double x, double y, double dx, double dy) {
  constexpr double kSize = 4.5;
  Connector head = of;
  head.dashed = false;
  head.width = 1.5;
  const double sx = dx > 0 ? 1 : dx < 0 ? -1 : 0;
  const double sy = sx == 0 ? (dy > 0 ? 1 : -1) : 0;
  head.points = {{x - sx * kSize - sy * kSize, y - sy * kSize - sx * kSize},
                 {x, y},
                 {x - sx * kSize + sy * kSize, y - sy * kSize + sx * kSize}};
  return head;
}

}  // namespace

void Sheet::gpu(std::uint32_t rank, double x, double y, double width) {
  boxes_.emplace_back(
      Box{x, y, width, kGpuHeight, std::to_string(rank), gpu_tooltip(hops_, rank), Tone::kPlain, "gpu"});
  if (const std::string gpu = hops_.gpu(rank); !gpu.empty())
    boxes_.emplace_back(Label{x + 7, y + 31, gpu, Tone::kQuiet, Align::kLeft, 10});
}

void Sheet::node(const std::string& host, double x, double y, double width, double height) {
  back_.emplace_back(
      Box{x, y, width, height, "", "", host.empty() ? Tone::kUnknown : Tone::kPlain, "package"});
  // Lines enter over the name: it keeps its own ground.
  Label name{x + 8,
             y + 16,
             host.empty() ? "node not in the log" : printable(host),
             host.empty() ? Tone::kUnknown : Tone::kStrong,
             Align::kLeft,
             12};
  name.halo = true;
  boxes_.emplace_back(std::move(name));
  right_ = std::max(right_, x + width);
}

void Sheet::line(std::uint32_t from, std::uint32_t to, Points points, bool either) {
  Hop hop = hops_.between(from, to);
  if (either && hop.kind == HopKind::kUnknown) hop = hops_.between(to, from);
  used_.insert({hop.kind, hop.degraded});
  Connector connector = connector_of(hop);
  connector.tooltip = fmt::format("rank {} to rank {}: {}", from, to, connector.tooltip);
  const auto [x, y] = points.back();
  const auto [px, py] = points[points.size() - 2];
  connector.points = std::move(points);
  const Connector head = arrow(connector, x, y, x - px, y - py);
  lines_.emplace_back(std::move(connector));
  lines_.emplace_back(head);
}

void Sheet::label(double x, double y, std::string text, Tone tone, double size) {
  boxes_.emplace_back(Label{x, y, std::move(text), tone, Align::kLeft, size});
  right_ =
      std::max(right_, x + static_cast<double>(std::get<Label>(boxes_.back()).text.size()) * size * 0.56);
}

Drawing Sheet::finish(std::string title, std::string description, double bottom) {
  bottom = legend(bottom + 26);
  Drawing drawing;
  drawing.title = std::move(title);
  drawing.description = std::move(description);
  drawing.width = right_ + kMargin + kLane;
  drawing.height = bottom + kMargin;
  for (auto* layer : {&back_, &lines_, &boxes_})
    std::ranges::move(*layer, std::back_inserter(drawing.shapes));
  return drawing;
}

double Sheet::legend(double y) {
  double x = kMargin + kLane;
  for (const auto& [kind, degraded] : used_) {
    Connector sample = connector_of({kind, "", degraded});
    sample.points = {{x, y - 4}, {x + 30, y - 4}};
    lines_.emplace_back(sample);
    const std::string words = name_of(kind);
    boxes_.emplace_back(Label{x + 36, y, words, degraded ? Tone::kCritical : Tone::kQuiet, Align::kLeft, 12});
    x += 36 + static_cast<double>(words.size()) * 7.4 + 22;
    if (x > std::max(right_, 600.0)) {
      x = kMargin + kLane;
      y += 20;
    }
  }
  right_ = std::max(right_, x - 22);
  return y;
}

}  // namespace angio::views
