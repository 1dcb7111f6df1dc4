// The choices of one run by size: a panel for each collective, a lane for each algorithm and protocol, and
// the line that steps from lane to lane.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/compare.hpp"
#include "views/dryrun_facts.hpp"
#include "views/dryrun_plot.hpp"
#include "views/dryrun_view.hpp"
#include "views/topology_canvas.hpp"

namespace angio::views {
namespace {

using model::DryRunOperation;
using report::Align;
using report::Box;
using report::Connector;
using report::Drawing;
using report::Label;
using report::Tone;

constexpr double kLane = 30;
constexpr double kHeadRoom = 26;
constexpr double kAxisRoom = 40;
constexpr double kDot = 5;

using Choices = std::vector<const DryRunOperation*>;  // of one collective, in the order of their sizes

// Collectives in the order of the run; what was never reached has no choice to draw.
std::vector<std::pair<std::string, Choices>> panels_of(const model::DryRun& run) {
  std::vector<std::pair<std::string, Choices>> panels;
  std::map<std::string, std::size_t> known;
  for (const DryRunOperation& operation : run.operations) {
    if (!operation.reached) continue;
    const auto [place, fresh] = known.emplace(operation.collective, panels.size());
    if (fresh) panels.push_back({operation.collective, {}});
    panels[place->second].second.push_back(&operation);
  }
  for (auto& [name, choices] : panels)
    std::ranges::stable_sort(choices, {}, &DryRunOperation::bytes);
  return panels;
}

std::string lane_of(const DryRunOperation& operation) {
  std::string words = algorithm_words(operation);
  if (!operation.protocol.empty()) words += " " + printable(operation.protocol);
  return words;
}

class StepPainter {
 public:
  explicit StepPainter(const SizeAxis& axis) : axis_(axis) {}

  double panel(const std::string& name, const Choices& choices, double top) {
    lanes_.clear();
    for (const DryRunOperation* choice : choices)
      lanes_.emplace(lane_of(*choice), lanes_.size());
    front_.emplace_back(Label{plot::kMargin, top + 14, printable(name), Tone::kStrong, Align::kLeft, 13});
    const double bottom = top + kHeadRoom + static_cast<double>(lanes_.size()) * kLane;
    bottom_ = bottom;
    for (const auto& [lane, index] : lanes_)
      front_.emplace_back(Label{plot::kMargin + plot::kLabels - 8, y_of(lane) + 4,
                                fit(lane, plot::kLabels - 20, 12), Tone::kPlain, Align::kRight, 12});
    axis_.draw(top + kHeadRoom, bottom, back_, front_);
    for (std::size_t i = 0; i < choices.size();)
      i = segment(choices, i);
    for (const DryRunOperation* choice : choices)
      dot(*choice);
    return bottom + kAxisRoom;
  }

  Drawing finish(double bottom) {
    front_.emplace_back(Label{plot::kMargin, bottom,
                              "dots: sizes that were tried; dashed: the choice changes somewhere between two "
                              "of them; ch: channels",
                              Tone::kQuiet, Align::kLeft, 11});
    Drawing drawing;
    drawing.width = plot::kRight + plot::kMargin;
    drawing.height = bottom + plot::kMargin;
    drawing.title = "Algorithm and protocol by size";
    drawing.description = "A panel for each collective, a lane for each algorithm and protocol.";
    for (auto* layer : {&back_, &lines_, &front_})
      std::ranges::move(*layer, std::back_inserter(drawing.shapes));
    return drawing;
  }

 private:
  [[nodiscard]] double y_of(const std::string& lane) const {
    return bottom_ - (static_cast<double>(lanes_.at(lane)) + 0.5) * kLane;
  }

  // Sizes in a row with the same choice, channels included; returns where the next begins.
  std::size_t segment(const Choices& choices, std::size_t begin) {
    const DryRunOperation& first = *choices[begin];
    const std::string lane = lane_of(first);
    std::size_t end = begin + 1;
    while (end < choices.size() && lane_of(*choices[end]) == lane && choices[end]->channels == first.channels)
      ++end;
    const double y = y_of(lane);
    const double left = axis_.x(first.bytes);
    const double right = axis_.x(choices[end - 1]->bytes);
    if (right > left)
      lines_.emplace_back(Connector{{{left, y}, {right, y}}, 4, Tone::kPlain, false, {}, line_kind(lane)});
    if (first.channels) {
      const std::string words = fmt::format("{} ch", *first.channels);
      const double next = end < choices.size() ? axis_.x(choices[end]->bytes) : plot::kRight;
      if (text_width(words, 10) < next - left + 4)
        front_.emplace_back(Label{left, y - 7, words, Tone::kQuiet, Align::kLeft, 10});
    }
    if (end < choices.size())
      lines_.emplace_back(
          Connector{{{right, y}, {axis_.x(choices[end]->bytes), y_of(lane_of(*choices[end]))}},
                    1.5,
                    Tone::kPlain,
                    true,
                    {},
                    {}});
    return end;
  }

  void dot(const DryRunOperation& choice) {
    const double x = axis_.x(choice.bytes);
    const double y = y_of(lane_of(choice));
    std::string words = fmt::format("{} {}: {}", printable(choice.collective), in_words(Bytes{choice.bytes}),
                                    dryrun::choice_text(choice));
    if (choice.estimate_us)
      words += fmt::format(", estimated {} us", microseconds_words(*choice.estimate_us));
    front_.emplace_back(
        Box{x - kDot / 2, y - kDot / 2, kDot, kDot, {}, words, Tone::kPlain, box_kind(lane_of(choice))});
  }

  const SizeAxis& axis_;
  std::map<std::string, std::size_t> lanes_;
  double bottom_ = 0;
  std::vector<report::Shape> back_, lines_, front_;
};

}  // namespace

std::optional<Drawing> dryrun_choices_drawing(const model::DryRun& run) {
  const auto panels = panels_of(run);
  if (panels.empty()) return std::nullopt;
  std::vector<std::uint64_t> sizes;
  for (const auto& [name, choices] : panels)
    for (const DryRunOperation* choice : choices)
      sizes.push_back(choice->bytes);
  const SizeAxis axis(sizes);
  StepPainter painter(axis);
  double y = plot::kMargin;
  for (const auto& [name, choices] : panels)
    y = painter.panel(name, choices, y) + 6;
  return painter.finish(y);
}

}  // namespace angio::views
