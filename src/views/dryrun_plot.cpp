#include "views/dryrun_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/text_layout.hpp"

namespace angio::views {
namespace {

constexpr double kMeanAdvance = 0.57;  // of system fonts, in their own size
constexpr double kTickRoom = 62;       // a size in words

double log_of(std::uint64_t bytes) {
  return std::log2(static_cast<double>(std::max<std::uint64_t>(bytes, 1)));
}

std::string algorithm_of(std::string_view choice) {
  return to_lower(choice.substr(0, choice.find_first_of(" ,")));
}

}  // namespace

SizeAxis::SizeAxis(const std::vector<std::uint64_t>& sizes) : sizes_(sizes) {
  std::ranges::sort(sizes_);
  const auto rest = std::ranges::unique(sizes_);
  sizes_.erase(rest.begin(), rest.end());
  if (sizes_.empty()) return;
  least_ = log_of(sizes_.front());
  span_ = std::max(1.0, log_of(sizes_.back()) - least_);
}

double SizeAxis::x(std::uint64_t bytes) const {
  using namespace plot;  // NOLINT(google-build-using-namespace): its own sizes
  return kMargin + kLabels + kEdge + (log_of(bytes) - least_) / span_ * (kWidth - 2 * kEdge);
}

void SizeAxis::draw(double top, double bottom, std::vector<report::Shape>& back,
                    std::vector<report::Shape>& front) const {
  double last = -kTickRoom;
  for (const std::uint64_t size : sizes_) {
    const double at = x(size);
    if (at - last < kTickRoom) continue;
    last = at;
    back.emplace_back(report::Connector{{{at, top}, {at, bottom}}, 0.5, report::Tone::kPlain, false, {}, {}});
    front.emplace_back(report::Label{at, bottom + 15, in_words(Bytes{size}), report::Tone::kQuiet,
                                     report::Align::kCentre, 11});
  }
}

std::string box_kind(std::string_view choice) {
  const std::string algorithm = algorithm_of(choice);
  if (algorithm == "ring") return "gpu";
  if (algorithm == "tree") return "nic";
  if (algorithm.starts_with("nvls")) return "storage";
  if (algorithm.starts_with("collnet")) return "switch";
  return "package";
}

std::string line_kind(std::string_view choice) {
  const std::string algorithm = algorithm_of(choice);
  if (algorithm == "ring") return "nvlink";
  return algorithm == "tree" ? "network" : "interconnect";
}

std::string_view without_channels(std::string_view choice) {
  return choice.substr(0, choice.find(", "));
}

double text_width(std::string_view text, double size) {
  return static_cast<double>(report::display_width(text)) * size * kMeanAdvance;
}

}  // namespace angio::views
