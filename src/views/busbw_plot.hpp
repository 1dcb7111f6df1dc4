// Size against bus bandwidth, both logarithmic: measured series over the band that the hardware should give.
// Shared by what judges and what measures collectives. Not the verdict: tones come with the points.
#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"
#include "report/document.hpp"

namespace angio::views {

struct BusbwPoint {
  Bytes size;
  BytesPerSecond bus;                        // 0 or less: left out
  report::Tone tone = report::Tone::kPlain;  // kWarning: low, kCritical: impossible or wrong data
  std::string tooltip;                       // empty: size and bandwidth
};

// A line through its points in the order of their sizes; drawn dashed to tell two halves of one run apart.
struct BusbwSeries {
  std::string name;  // "AllReduce, out of place"
  std::vector<BusbwPoint> points;
  bool dashed = false;
};

struct BusbwBand {
  Bytes size;
  BytesPerSecond low;  // below it is low
  BytesPerSecond expected;
  BytesPerSecond high;  // above it is impossible
};

struct BusbwPlot {
  std::string title;        // of the accessible tree: "AllReduce on 8 x H100"
  std::string description;  // the answer in a sentence; may be empty
  std::string axis = "bus bandwidth";
  std::string band_name = "expected of this hardware";
  std::vector<BusbwSeries>
      series;                   // at most kMostBusbwSeries are drawn; the legend says how many more there are
  std::vector<BusbwBand> band;  // empty: no expectation
};

inline constexpr std::size_t kMostBusbwSeries = 6;

// Without a point that can be drawn: a drawing of size 0, which the caller leaves out.
report::Drawing busbw_drawing(const BusbwPlot& plot);

}  // namespace angio::views
