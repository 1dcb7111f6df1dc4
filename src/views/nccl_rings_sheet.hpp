// The sheet that the pictures of rings and trees are drawn on: GPUs, boxes of nodes, lines with arrows, the
// legend. Only for nccl_rings*.cpp.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/document.hpp"
#include "views/nccl_hops.hpp"

namespace angio::views {

namespace sheet {
inline constexpr double kMargin = 20;
inline constexpr double kLane = 26;  // room for lines beside the nodes
inline constexpr double kGpuWidth = 66;
inline constexpr double kGpuHeight = 38;
inline constexpr double kGpuGap = 22;
inline constexpr double kHead = 24;  // of a node's box
inline constexpr double kPad = 12;
inline constexpr double kRowGap = 30;      // between nodes: where network hops run
inline constexpr std::size_t kWidest = 8;  // GPUs in a row
inline constexpr std::size_t kMostRanks = 4096;
}  // namespace sheet

using Points = std::vector<std::pair<double, double>>;

class Sheet {
 public:
  explicit Sheet(const Hops& hops) : hops_(hops) {}

  void gpu(std::uint32_t rank, double x, double y, double width);
  void node(const std::string& host, double x, double y, double width, double height);
  // either: a tree uses both directions of a connection; the log of one rank may name only one.
  void line(std::uint32_t from, std::uint32_t to, Points points, bool either = false);
  void label(double x, double y, std::string text, report::Tone tone, double size);
  // With the legend below `bottom`; the sheet is empty afterwards.
  report::Drawing finish(std::string title, std::string description, double bottom);

 private:
  double legend(double y);

  const Hops& hops_;
  std::vector<report::Shape> back_, lines_, boxes_;
  std::set<std::pair<HopKind, bool>> used_;
  double right_ = 0;
};

// The first tree of a communicator from y on; gives the bottom. Nothing without trees.
double paint_tree(const model::NcclCommunicator& communicator, const Hops& hops, Sheet& sheet, double y);

}  // namespace angio::views
