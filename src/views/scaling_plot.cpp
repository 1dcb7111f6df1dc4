#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/scaling_view.hpp"

namespace angio::views {
namespace {

using report::Align;
using report::Box;
using report::Connector;
using report::Label;
using report::Tone;
using scaling::ScaledPoint;
using scaling::Scaling;

constexpr double kLeft = 76;
constexpr double kTop = 44;
constexpr double kWidth = 560;
constexpr double kHeight = 340;
constexpr double kEdge = 18;   // inside, around the points
constexpr double kRight = 70;  // labels of the efficiency
constexpr double kBelow = 48;
constexpr double kDot = 8;
constexpr double kCountRoom = 34;

using Shapes = std::vector<report::Shape>;

// Devices to the right, speed-up upwards, in powers of two.
class Plane {
 public:
  explicit Plane(const Scaling& scaling) {
    left_ = std::log2(static_cast<double>(scaling.points.front().count));
    span_ = std::max(0.5, std::log2(static_cast<double>(scaling.points.back().count)) - left_);
    lower_ = std::log2(scaling.points.front().ideal);
    upper_ = std::log2(scaling.points.back().ideal);
    for (const ScaledPoint& point : scaling.points) {
      lower_ = std::min(lower_, std::log2(point.speedup));
      upper_ = std::max(upper_, std::log2(point.speedup));
    }
    upper_ = std::max(upper_, lower_ + 1);
  }
  [[nodiscard]] double x(double count) const {
    return kLeft + kEdge + (std::log2(count) - left_) / span_ * (kWidth - 2 * kEdge);
  }
  [[nodiscard]] double y(double speedup) const {
    const double at = (std::log2(speedup) - lower_) / (upper_ - lower_);
    return kTop + kHeight - kEdge - at * (kHeight - 2 * kEdge);
  }
  [[nodiscard]] double lower() const { return lower_; }
  [[nodiscard]] double upper() const { return upper_; }

 private:
  double left_ = 0, span_ = 1, lower_ = 0, upper_ = 1;
};

void line(Shapes& shapes, std::vector<std::pair<double, double>> points, double width, const char* kind,
          bool dashed = false, std::string tooltip = {}) {
  shapes.emplace_back(Connector{std::move(points), width, Tone::kPlain, dashed, std::move(tooltip), kind});
}

void draw_axes(const Scaling& scaling, const Plane& plane, Shapes& shapes) {
  double last = -kCountRoom;
  for (const ScaledPoint& point : scaling.points) {
    const double x = plane.x(point.count);
    if (x - last < kCountRoom) continue;
    last = x;
    line(shapes, {{x, kTop}, {x, kTop + kHeight}}, 0.4, "grid");
    shapes.emplace_back(
        Label{x, kTop + kHeight + 16, std::to_string(point.count), Tone::kQuiet, Align::kCentre, 11});
  }
  const int step = std::max(1, static_cast<int>((plane.upper() - plane.lower()) / 8));
  for (int power = static_cast<int>(std::ceil(plane.lower())); power <= plane.upper(); power += step) {
    const double speedup = std::exp2(power);
    const double y = plane.y(speedup);
    line(shapes, {{kLeft, y}, {kLeft + kWidth, y}}, 0.4, "grid");
    shapes.emplace_back(
        Label{kLeft - 8, y + 4, fmt::format("{:.3g}x", speedup), Tone::kQuiet, Align::kRight, 11});
  }
  shapes.emplace_back(Label{kLeft + kWidth / 2, kTop + kHeight + 36, printable(scaling.series.device) + "s",
                            Tone::kQuiet, Align::kCentre, 11});
}

Tone tone_of(const ScaledPoint& point, const Scaling& scaling) {
  if (scaling.knee && point.count > scaling.knee->after) return Tone::kWarning;
  return Tone::kPlain;
}

void draw_points(const Scaling& scaling, const Plane& plane, Shapes& shapes) {
  std::vector<std::pair<double, double>> path;
  for (const ScaledPoint& point : scaling.points)
    path.emplace_back(plane.x(point.count), plane.y(point.speedup));
  line(shapes, path, 2, "s0");
  double last = -kCountRoom;
  for (const ScaledPoint& point : scaling.points) {
    const double x = plane.x(point.count);
    const double y = plane.y(point.speedup);
    if (point.range)
      line(shapes,
           {{x, plane.y(std::max(point.range->low, 1e-9) * point.ideal)},
            {x, plane.y(point.range->high * point.ideal)}},
           1, "s0");
    constexpr double kPercent = 100;
    const std::string share = fmt::format("{:.0f} %", point.efficiency * kPercent);
    shapes.emplace_back(Box{x - kDot / 2,
                            y - kDot / 2,
                            kDot,
                            kDot,
                            {},
                            fmt::format("{}: {:.3g} times {}, {} of ideal",
                                        count_of(point.count, printable(scaling.series.device)),
                                        point.speedup, scaling.baseline, share),
                            tone_of(point, scaling),
                            "dot s0"});
    if (x - last < kCountRoom) continue;
    last = x;
    shapes.emplace_back(Label{x + 6, y + 16, share, tone_of(point, scaling), Align::kLeft, 11, true});
  }
}

void draw_legend(Shapes& shapes) {
  constexpr double kY = 18;
  constexpr double kSample = 26;
  line(shapes, {{kLeft, kY}, {kLeft + kSample, kY}}, 2, "s0");
  shapes.emplace_back(Label{kLeft + kSample + 8, kY + 4, "measured", Tone::kPlain, Align::kLeft, 12});
  line(shapes, {{kLeft + 120, kY}, {kLeft + 120 + kSample, kY}}, 1.2, "expected", true);
  shapes.emplace_back(Label{kLeft + 120 + kSample + 8, kY + 4, "ideal", Tone::kPlain, Align::kLeft, 12});
}

}  // namespace

report::Drawing scaling_drawing(const Scaling& scaling) {
  report::Drawing drawing;
  if (scaling.points.size() < 2) return drawing;
  const Plane plane(scaling);
  drawing.title =
      fmt::format("Speed-up over {}{}", count_of(scaling.baseline, printable(scaling.series.device)),
                  scaling.series.name.empty() ? "" : ": " + printable(scaling.series.name));
  drawing.description = scaling.answer;
  drawing.width = kLeft + kWidth + kRight;
  drawing.height = kTop + kHeight + kBelow;
  draw_axes(scaling, plane, drawing.shapes);
  const ScaledPoint& first = scaling.points.front();
  const ScaledPoint& last = scaling.points.back();
  line(drawing.shapes,
       {{plane.x(first.count), plane.y(first.ideal)}, {plane.x(last.count), plane.y(last.ideal)}}, 1.2,
       "expected", true, "ideal");
  draw_points(scaling, plane, drawing.shapes);
  draw_legend(drawing.shapes);
  return drawing;
}

}  // namespace angio::views
