#include "views/busbw_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/format.hpp"
#include "report/text_layout.hpp"

namespace angio::views {
namespace {

using report::Align;
using report::Box;
using report::Connector;
using report::Label;
using report::Tone;

constexpr double kLeft = 96;  // labels of the bandwidths
constexpr double kWidth = 760;
constexpr double kHeight = 330;
constexpr double kRight = 24;
constexpr double kTop = 16;
constexpr double kLegendLine = 20;
constexpr double kBelow = 46;  // labels of the sizes, name of the axis
constexpr double kDot = 7;
constexpr double kDecades = 4;  // what is further below the top is left out
constexpr double kSizeRoom = 66;
constexpr double kAdvance = 0.57;  // of system fonts, in their own size

struct Range {
  double least = std::numeric_limits<double>::max();
  double most = 0;
  void take(double value) {
    if (!std::isfinite(value) || value <= 0) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  [[nodiscard]] bool is_empty() const { return most <= 0; }
};

bool is_drawn(const BusbwPoint& point) {
  return point.size.value > 0 && std::isfinite(point.bus.value) && point.bus.value > 0;
}

class Plane {
 public:
  Plane(const BusbwPlot& plot, double top) : top_(top) {
    Range sizes;
    Range rates;
    for (const BusbwSeries& series : plot.series) {
      for (const BusbwPoint& point : series.points) {
        if (!is_drawn(point)) continue;
        sizes.take(static_cast<double>(point.size.value));
        rates.take(point.bus.value);
      }
    }
    is_empty_ = sizes.is_empty();
    if (is_empty_) return;
    for (const BusbwBand& band : plot.band) {
      rates.take(band.low.value);
      rates.take(band.high.value);
    }
    left_ = std::log2(sizes.least);
    span_ = std::log2(sizes.most) - left_;
    upper_ = std::log10(rates.most * 1.25);
    lower_ = std::max(std::log10(rates.least / 1.25), upper_ - kDecades);
    if (upper_ - lower_ < 0.5) lower_ = upper_ - 0.5;
  }

  [[nodiscard]] bool is_empty() const { return is_empty_; }
  [[nodiscard]] double top() const { return top_; }
  [[nodiscard]] double bottom() const { return top_ + kHeight; }
  [[nodiscard]] double lower() const { return lower_; }
  [[nodiscard]] double upper() const { return upper_; }

  // One size stands in the middle.
  [[nodiscard]] double x(Bytes size) const {
    if (span_ < 0.5) return kLeft + kWidth / 2;
    const double at =
        (std::log2(static_cast<double>(std::max<std::uint64_t>(size.value, 1))) - left_) / span_;
    return kLeft + 14 + std::clamp(at, 0.0, 1.0) * (kWidth - 28);
  }
  [[nodiscard]] double y(double rate) const {
    const double value = rate > 0 ? std::log10(rate) : lower_;
    return bottom() - (std::clamp(value, lower_, upper_) - lower_) / (upper_ - lower_) * kHeight;
  }

 private:
  double top_;
  bool is_empty_ = true;
  double left_ = 0, span_ = 1, lower_ = 0, upper_ = 1;
};

using Shapes = std::vector<report::Shape>;

void line(Shapes& shapes, std::vector<std::pair<double, double>> points, double width, const char* kind,
          bool dashed = false, std::string tooltip = {}) {
  shapes.emplace_back(Connector{std::move(points), width, Tone::kPlain, dashed, std::move(tooltip), kind});
}

void draw_rates(const Plane& plane, Shapes& shapes) {
  const bool narrow = plane.upper() - plane.lower() < 1.7;
  constexpr std::array kSteps{1.0, 2.0, 5.0};
  for (int decade = static_cast<int>(std::floor(plane.lower())); decade <= plane.upper(); ++decade) {
    for (const double step : kSteps) {
      const double rate = step * std::pow(10.0, decade);
      const double at = std::log10(rate);
      if (at < plane.lower() || at > plane.upper()) continue;
      const double y = plane.y(rate);
      line(shapes, {{kLeft, y}, {kLeft + kWidth, y}}, step > 1 ? 0.4 : 0.8, "grid");
      if (step > 1 && !narrow) continue;
      shapes.emplace_back(
          Label{kLeft - 8, y + 4, in_words(BytesPerSecond{rate}), Tone::kQuiet, Align::kRight, 11});
    }
  }
}

void draw_sizes(const BusbwPlot& plot, const Plane& plane, Shapes& shapes) {
  std::vector<std::uint64_t> sizes;
  for (const BusbwSeries& series : plot.series)
    for (const BusbwPoint& point : series.points)
      if (is_drawn(point)) sizes.push_back(point.size.value);
  std::ranges::sort(sizes);
  const auto rest = std::ranges::unique(sizes);
  sizes.erase(rest.begin(), rest.end());
  double last = -kSizeRoom;
  for (const std::uint64_t size : sizes) {
    const double x = plane.x(Bytes{size});
    if (x - last < kSizeRoom) continue;
    last = x;
    line(shapes, {{x, plane.top()}, {x, plane.bottom()}}, 0.4, "grid");
    shapes.emplace_back(
        Label{x, plane.bottom() + 16, in_words(Bytes{size}), Tone::kQuiet, Align::kCentre, 11});
  }
}

// Filled between low and high, with a thin line at what is expected.
void draw_band(const BusbwPlot& plot, const Plane& plane, Shapes& shapes) {
  std::vector<BusbwBand> band = plot.band;
  std::ranges::stable_sort(band, {}, &BusbwBand::size);
  std::vector<std::pair<double, double>> edge;
  std::vector<std::pair<double, double>> middle;
  for (const BusbwBand& at : band) {
    edge.emplace_back(plane.x(at.size), plane.y(at.high.value));
    middle.emplace_back(plane.x(at.size), plane.y(at.expected.value));
  }
  for (auto at = band.rbegin(); at != band.rend(); ++at)
    edge.emplace_back(plane.x(at->size), plane.y(at->low.value));
  if (band.size() == 1) {  // a single size: an upright bar
    edge = {{edge[0].first - 12, edge[0].second},
            {edge[0].first + 12, edge[0].second},
            {edge[1].first + 12, edge[1].second},
            {edge[1].first - 12, edge[1].second}};
    middle = {{middle[0].first - 12, middle[0].second}, {middle[0].first + 12, middle[0].second}};
  }
  if (edge.size() < 2) return;
  line(shapes, std::move(edge), 0, "band", false, plot.band_name);
  line(shapes, std::move(middle), 1, "expected");
}

const char* kind_of(std::size_t index) {
  constexpr std::array<const char*, kMostBusbwSeries> kKinds{"s0", "s1", "s2", "s3", "s4", "s5"};
  return kKinds[std::min(index, kKinds.size() - 1)];
}

void draw_series(const BusbwSeries& series, const Plane& plane, const char* kind, Shapes& back,
                 Shapes& front) {
  std::vector<BusbwPoint> points;
  std::ranges::copy_if(series.points, std::back_inserter(points), [&plane](const BusbwPoint& point) {
    return is_drawn(point) && std::log10(point.bus.value) >= plane.lower();
  });
  std::ranges::stable_sort(points, {}, &BusbwPoint::size);
  std::vector<std::pair<double, double>> path;
  for (const BusbwPoint& point : points) {
    const double x = plane.x(point.size);
    const double y = plane.y(point.bus.value);
    path.emplace_back(x, y);
    std::string tooltip = point.tooltip.empty() ? fmt::format("{}: {}, {}", series.name, in_words(point.size),
                                                              in_words(point.bus))
                                                : point.tooltip;
    const bool marked = point.tone == Tone::kWarning || point.tone == Tone::kCritical;
    const double size = marked ? kDot + 3 : kDot;
    front.emplace_back(Box{x - size / 2,
                           y - size / 2,
                           size,
                           size,
                           {},
                           std::move(tooltip),
                           point.tone,
                           "dot " + std::string(kind)});
  }
  if (path.size() > 1) line(back, std::move(path), 2, kind, series.dashed);
}

struct Entry {
  std::string name;
  const char* kind = "";
  bool dashed = false;
  bool band = false;
};

std::vector<Entry> legend_of(const BusbwPlot& plot) {
  std::vector<Entry> entries;
  const std::size_t shown = std::min(plot.series.size(), kMostBusbwSeries);
  for (std::size_t i = 0; i < shown; ++i)
    entries.push_back({plot.series[i].name, kind_of(i), plot.series[i].dashed, false});
  if (!plot.band.empty()) entries.push_back({plot.band_name, "band", false, true});
  if (plot.series.size() > shown)
    entries.push_back({fmt::format("{} more are not drawn", plot.series.size() - shown), "", false, false});
  return entries;
}

// Returns where the plane may begin.
double draw_legend(const std::vector<Entry>& entries, Shapes& shapes) {
  constexpr double kSample = 26;
  double x = kLeft;
  double y = kTop;
  for (const Entry& entry : entries) {
    const double width =
        kSample + 8 + static_cast<double>(report::display_width(entry.name)) * 12 * kAdvance + 22;
    if (x > kLeft && x + width > kLeft + kWidth) {
      x = kLeft;
      y += kLegendLine;
    }
    const double middle = y + 4;
    if (entry.band) {
      line(shapes, {{x, middle - 6}, {x + kSample, middle - 6}, {x + kSample, middle + 6}, {x, middle + 6}},
           0, "band");
      line(shapes, {{x, middle}, {x + kSample, middle}}, 1, "expected");
    } else if (*entry.kind != '\0') {
      line(shapes, {{x, middle}, {x + kSample, middle}}, 2, entry.kind, entry.dashed);
    }
    shapes.emplace_back(Label{x + kSample + 8, middle + 4, entry.name, Tone::kPlain, Align::kLeft, 12});
    x += width;
  }
  return y + kLegendLine;
}

}  // namespace

report::Drawing busbw_drawing(const BusbwPlot& plot) {
  report::Drawing drawing;
  drawing.title = plot.title;
  drawing.description = plot.description;
  Shapes shapes;
  const Plane plane(plot, draw_legend(legend_of(plot), shapes) + 8);
  if (plane.is_empty()) return {};
  Shapes front;
  if (!plot.band.empty()) draw_band(plot, plane, shapes);
  draw_rates(plane, shapes);
  draw_sizes(plot, plane, shapes);
  for (std::size_t i = 0; i < std::min(plot.series.size(), kMostBusbwSeries); ++i)
    draw_series(plot.series[i], plane, kind_of(i), shapes, front);
  shapes.insert(shapes.end(), front.begin(), front.end());
  shapes.emplace_back(
      Label{kLeft + kWidth / 2, plane.bottom() + 36, "size", Tone::kQuiet, Align::kCentre, 11});
  shapes.emplace_back(Label{kLeft - 8, plane.top() - 8, plot.axis, Tone::kQuiet, Align::kRight, 11});
  drawing.width = kLeft + kWidth + kRight;
  drawing.height = plane.bottom() + kBelow;
  drawing.shapes = std::move(shapes);
  return drawing;
}

}  // namespace angio::views
