// The axis of sizes that the drawings of a dry run share: sizes as powers of two from left to right. Only for
// src/views/dryrun_*.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.hpp"

namespace angio::views {

namespace plot {
inline constexpr double kMargin = 16;
inline constexpr double kLabels = 210;  // column of names at the left
inline constexpr double kWidth = 780;   // of the axis
inline constexpr double kEdge = 12;     // of it, left and right of the first and last size
inline constexpr double kRight = kMargin + kLabels + kWidth;
}  // namespace plot

class SizeAxis {
 public:
  explicit SizeAxis(const std::vector<std::uint64_t>& sizes);
  [[nodiscard]] double x(std::uint64_t bytes) const;
  [[nodiscard]] double middle(std::uint64_t a, std::uint64_t b) const { return (x(a) + x(b)) / 2; }
  // Thin upright lines from top to bottom, and the sizes below.
  void draw(double top, double bottom, std::vector<report::Shape>& back,
            std::vector<report::Shape>& front) const;

 private:
  std::vector<std::uint64_t> sizes_;  // ascending, each once
  double least_ = 0;
  double span_ = 1;
};

// Style classes by algorithm; the words beside them say which.
std::string box_kind(std::string_view choice);
std::string line_kind(std::string_view choice);
// "RING LL128" of "RING LL128, 24 channels".
std::string_view without_channels(std::string_view choice);
double text_width(std::string_view text, double size);  // about

}  // namespace angio::views
