#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "views/tune_words.hpp"

namespace angio::views {
namespace {

using report::Align;
using report::Box;
using report::Connector;
using report::Label;
using report::Tone;

constexpr double kLeft = 210;  // names of the settings
constexpr double kWidth = 470;
constexpr double kRight = 190;  // what is said of them
constexpr double kRow = 28;
constexpr double kTop = 30;
constexpr double kBelow = 44;
constexpr std::size_t kMostName = 28;

// Steps of 1, 2 or 5 times a power of ten: at most eight of them.
double step_of(double span) {
  constexpr double kSteps = 8;
  const double power = std::pow(10, std::floor(std::log10(span / kSteps)));
  for (const double each : std::array{1.0, 2.0, 5.0}) {
    if (span / (power * each) <= kSteps) return power * each;
  }
  return power * 10;
}

class Plane {
 public:
  explicit Plane(const TuneReport& report) {
    const double worth = report.spec->wish.worthwhile;
    least_ = -2 * worth;
    most_ = 2 * worth;
    for (const experiment::ArmVerdict& arm : report.verdict.arms) {
      if (arm.gain) take(*arm.gain);
      if (!arm.gain_between) continue;
      take(arm.gain_between->low);
      take(arm.gain_between->high);
    }
    // An interval of few runs reaches far; what all others share stays readable.
    constexpr double kFurthest = 1;
    least_ = std::max(least_, -kFurthest);
    most_ = std::min(most_, 2 * kFurthest);
  }
  [[nodiscard]] double x(double part) const {
    return kLeft + kWidth * (std::clamp(part, least_, most_) - least_) / (most_ - least_);
  }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }

 private:
  void take(double value) {
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }
  double least_ = 0;
  double most_ = 0;
};

void draw_axis(report::Drawing& drawing, const Plane& plane, double worth, double bottom) {
  drawing.shapes.emplace_back(Box{
      plane.x(-worth), kTop, plane.x(worth) - plane.x(-worth), bottom - kTop, "",
      fmt::format("less than {} either way: not worth knowing", tune_percent(worth)), Tone::kPlain, "host"});
  const double step = step_of(plane.most() - plane.least());
  for (double at = std::ceil(plane.least() / step) * step; at <= plane.most() + step / 1000; at += step) {
    const bool zero = std::abs(at) < step / 2;
    drawing.shapes.emplace_back(Connector{{{plane.x(at), kTop}, {plane.x(at), bottom}},
                                          zero ? 1.5 : 0.5,
                                          Tone::kPlain,
                                          false,
                                          "",
                                          zero ? "" : "grid"});
    drawing.shapes.emplace_back(Label{plane.x(at), bottom + 15,
                                      zero ? "baseline" : fmt::format("{:+g} %", std::round(at * 1e6) / 1e4),
                                      Tone::kQuiet, Align::kCentre, 11, false});
  }
  drawing.shapes.emplace_back(
      Label{plane.x(plane.least()), bottom + 34, "worse", Tone::kQuiet, Align::kLeft, 11, false});
  drawing.shapes.emplace_back(
      Label{plane.x(plane.most()), bottom + 34, "better", Tone::kQuiet, Align::kRight, 11, false});
}

void draw_arm(report::Drawing& drawing, const TuneReport& report, const Plane& plane, std::uint32_t number,
              double y) {
  const experiment::ArmVerdict& arm = report.verdict.arms[number];
  std::string name = printable(report.arms[number].name);
  if (name.size() > kMostName) name = name.substr(0, kMostName - 3) + "...";
  const Tone tone = tune_tone(report, number);
  const bool good = tone == Tone::kGood;
  const bool dashed =
      arm.state == experiment::ArmState::kUndecided || arm.state == experiment::ArmState::kFailed;
  drawing.shapes.emplace_back(Label{kLeft - 14, y + 4, name, Tone::kPlain, Align::kRight, 12, false});
  const std::string words = tune_state_words(report, number);
  const std::string tip = fmt::format("{}: {}{}", printable(report.arms[number].name), words,
                                      arm.gain_between ? ", " + between_words(*arm.gain_between) : "");
  if (arm.gain_between) {
    const double low = plane.x(arm.gain_between->low);
    const double high = plane.x(arm.gain_between->high);
    drawing.shapes.emplace_back(Connector{{{low, y}, {high, y}}, 3, tone, dashed, tip, good ? "nvlink" : ""});
    for (const double end : {low, high})
      drawing.shapes.emplace_back(
          Connector{{{end, y - 5}, {end, y + 5}}, 2, tone, false, "", good ? "nvlink" : ""});
  }
  if (arm.gain)
    drawing.shapes.emplace_back(Box{plane.x(*arm.gain) - 4, y - 4, 8, 8, "", tip, tone, good ? "gpu" : ""});
  drawing.shapes.emplace_back(Label{kLeft + kWidth + 14, y + 4, words, tone, Align::kLeft, 12, false});
}

}  // namespace

report::Drawing tune_picture(const TuneReport& report) {
  report::Drawing drawing;
  const double bottom = kTop + kRow * static_cast<double>(report.verdict.ranking.size());
  drawing.width = kLeft + kWidth + kRight;
  drawing.height = bottom + kBelow;
  drawing.title = "Effect of each setting against the baseline";
  drawing.description = tune_words(report);
  const Plane plane(report);
  draw_axis(drawing, plane, report.spec->wish.worthwhile, bottom);
  double y = kTop + kRow / 2;
  for (const std::uint32_t arm : report.verdict.ranking) {
    draw_arm(drawing, report, plane, arm, y);
    y += kRow;
  }
  return drawing;
}

}  // namespace angio::views
