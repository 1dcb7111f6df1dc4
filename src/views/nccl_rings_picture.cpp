#include "views/nccl_rings_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/nccl_hops.hpp"
#include "views/nccl_log_words.hpp"
#include "views/nccl_ring_words.hpp"
#include "views/nccl_rings_sheet.hpp"

namespace angio::views {
namespace {

using namespace sheet;  // NOLINT(google-build-using-namespace): its own sizes
using model::NcclCommunicator;
using model::NcclLog;
using report::Drawing;
using report::Tone;

constexpr std::size_t kMostPanels = 4;

// A run of ranks on one node, in the order of the ring.
struct Row {
  std::string host;
  std::vector<std::uint32_t> ranks;
};

using Ring = DistinctRing;

const NcclCommunicator* with_trees(const NcclLog& log) {
  const NcclCommunicator* found = nullptr;
  for (const NcclCommunicator& communicator : log.communicators) {
    const bool any =
        std::ranges::any_of(communicator.ranks, [](const auto& rank) { return !rank.trees.empty(); });
    if (any && (found == nullptr || communicator.nranks > found->nranks)) found = &communicator;
  }
  return found;
}

// A ring has no beginning: turned back to where its first node is entered, no node is drawn in two pieces.
void begin_at_a_node(Ring& ring, const Hops& hops) {
  const std::string& first = hops.host(ring.order.front());
  if (first.empty()) return;
  std::size_t back = 0;
  while (back + 1 < ring.order.size() && hops.host(ring.order[ring.order.size() - 1 - back]) == first)
    ++back;
  if (back + 1 < ring.order.size())
    std::ranges::rotate(ring.order, ring.order.end() - static_cast<std::ptrdiff_t>(back));
}

std::vector<Row> rows_of(const Ring& ring, const Hops& hops) {
  std::vector<Row> rows;
  for (const std::uint32_t rank : ring.order) {
    const std::string& host = hops.host(rank);
    const bool same = !rows.empty() && rows.back().host == host && !host.empty();
    if (!same || rows.back().ranks.size() >= kWidest) {
      // A node whose ranks are not in the log: its ranks stay together as long as nothing parts them.
      const bool unknown =
          !rows.empty() && host.empty() && rows.back().host.empty() && rows.back().ranks.size() < kWidest;
      if (!unknown) rows.push_back({host, {}});
    }
    rows.back().ranks.push_back(rank);
  }
  return rows;
}

class RingPainter {
 public:
  RingPainter(const Hops& hops, Sheet& sheet) : hops_(hops), sheet_(sheet) {}

  // Rows run right, left, right …; the way back runs at the left edge, from a last row that ends right around
  // it.
  double paint(const Ring& ring, bool closed, double top) {
    const std::vector<Row> rows = rows_of(ring, hops_);
    std::size_t widest = 1;
    for (const Row& row : rows)
      widest = std::max(widest, row.ranks.size());
    const double left = kMargin + kLane;
    const double width = 2 * kPad + static_cast<double>(widest) * (kGpuWidth + kGpuGap) - kGpuGap;
    double y = top;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool forward = i % 2 == 0;
      const double gpu_y = y + kHead;
      sheet_.node(rows[i].host, left, y, width, kHead + kGpuHeight + kPad);
      place(rows[i], forward, left, width, gpu_y);
      y += kHead + kGpuHeight + kPad + kRowGap;
    }
    const double bottom = y - kRowGap;
    join(ring, closed, rows, left, left + width, bottom);
    return bottom;
  }

 private:
  void place(const Row& row, bool forward, double left, double width, double y) {
    for (std::size_t k = 0; k < row.ranks.size(); ++k) {
      const double step = static_cast<double>(k) * (kGpuWidth + kGpuGap);
      const double x = forward ? left + kPad + step : left + width - kPad - kGpuWidth - step;
      sheet_.gpu(row.ranks[k], x, y, kGpuWidth);
      at_[row.ranks[k]] = {x, y};
    }
  }

  void join(const Ring& ring, bool closed, const std::vector<Row>& rows, double left, double right,
            double bottom) {
    const std::size_t count = ring.order.size();
    if (count < 2) return;
    for (std::size_t i = 0; i < (closed ? count : count - 1); ++i) {
      const std::uint32_t from = ring.order[i];
      const std::uint32_t to = ring.order[(i + 1) % count];
      if (i + 1 == count) {
        back(from, to, rows, left, right, bottom);
      } else {
        hop(from, to);
      }
    }
  }

  void hop(std::uint32_t from, std::uint32_t to) {
    const auto [ax, ay] = at_.at(from);
    const auto [bx, by] = at_.at(to);
    const double middle = kGpuHeight / 2;
    if (ay == by) {
      const bool right = bx > ax;
      sheet_.line(from, to,
                  {{right ? ax + kGpuWidth : ax, ay + middle}, {right ? bx : bx + kGpuWidth, by + middle}});
      return;
    }
    const double x = ax + kGpuWidth / 2;
    const double target = bx + kGpuWidth / 2;
    if (x == target) return sheet_.line(from, to, {{x, ay + kGpuHeight}, {target, by}});
    const double between = ay + kGpuHeight + kPad + kRowGap / 2;
    sheet_.line(from, to, {{x, ay + kGpuHeight}, {x, between}, {target, between}, {target, by}});
  }

  void back(std::uint32_t from, std::uint32_t to, const std::vector<Row>& rows, double left, double right,
            double bottom) {
    const auto [ax, ay] = at_.at(from);
    const auto [bx, by] = at_.at(to);
    const double middle = kGpuHeight / 2;
    if (rows.size() == 1) {
      // Under the row and up again, inside the node's box.
      const double low = ay + kGpuHeight + kPad / 2;
      if (from == to) return;
      sheet_.line(from, to,
                  {{ax + kGpuWidth / 2, ay + kGpuHeight},
                   {ax + kGpuWidth / 2, low},
                   {bx + kGpuWidth / 2, low},
                   {bx + kGpuWidth / 2, by + kGpuHeight}});
      return;
    }
    const double lane = left - kLane / 2;
    if (rows.size() % 2 == 0) {
      sheet_.line(from, to, {{ax, ay + middle}, {lane, ay + middle}, {lane, by + middle}, {bx, by + middle}});
      return;
    }
    const double low = bottom + kRowGap / 3;
    const double outer = right + kLane / 2;
    sheet_.line(from, to,
                {{ax + kGpuWidth, ay + middle},
                 {outer, ay + middle},
                 {outer, low},
                 {lane, low},
                 {lane, by + middle},
                 {bx, by + middle}});
  }

  const Hops& hops_;
  Sheet& sheet_;
  std::map<std::uint32_t, std::pair<double, double>> at_;
};

std::string heading_of(const Ring& ring, const NcclCommunicator& communicator) {
  const std::string channels = fmt::format("{} {} of {}", ring.channels.size() == 1 ? "channel" : "channels",
                                           rank_list(ring.channels), communicator.rings.size());
  if (ring.order.size() == communicator.nranks)
    return fmt::format("{}: a ring of {}", channels, count_of(ring.order.size(), "rank"));
  return fmt::format("{}: {} of the ring's {} ranks, the log names no more", channels, ring.order.size(),
                     communicator.nranks);
}

double paint_rings(const NcclCommunicator& communicator, const Hops& hops, Sheet& sheet, double y) {
  std::vector<Ring> rings = distinct_rings(communicator);
  for (std::size_t i = 0; i < std::min(rings.size(), kMostPanels); ++i) {
    sheet.label(kMargin + kLane, y + 12, heading_of(rings[i], communicator), Tone::kStrong, 14);
    const bool closed = rings[i].order.size() == communicator.nranks;
    if (closed) begin_at_a_node(rings[i], hops);
    y = RingPainter(hops, sheet).paint(rings[i], closed, y + 24) + 2 * kRowGap;
  }
  if (rings.size() > kMostPanels) {
    sheet.label(kMargin + kLane, y, fmt::format("and {} other rings", rings.size() - kMostPanels),
                Tone::kQuiet, 12);
    y += 20;
  }
  return y - kRowGap;
}

std::string description_of(const NcclCommunicator& communicator) {
  return fmt::format("Rows are nodes, boxes are ranks with their GPUs; {} of {} ranks are in the log.",
                     communicator.ranks.size(), communicator.nranks);
}

std::optional<Drawing> draw(const NcclLog& log, bool rings, bool trees) {
  const NcclCommunicator* communicator = rings ? communicator_with_rings(log) : nullptr;
  if (communicator == nullptr && trees) communicator = with_trees(log);
  if (communicator == nullptr) return std::nullopt;
  const Hops hops(log, *communicator);
  Sheet sheet(hops);
  double bottom = kMargin;
  if (rings && !communicator->rings.empty())
    bottom = paint_rings(*communicator, hops, sheet, bottom) + kRowGap;
  if (trees) bottom = paint_tree(*communicator, hops, sheet, bottom);
  const char* title = rings && trees ? "NCCL rings and tree" : rings ? "NCCL rings" : "NCCL tree";
  return sheet.finish(title, description_of(*communicator), bottom);
}

}  // namespace

std::optional<Drawing> rings_drawing(const NcclLog& log) {
  return draw(log, true, false);
}

std::optional<Drawing> tree_drawing(const NcclLog& log) {
  if (with_trees(log) == nullptr) return std::nullopt;
  return draw(log, false, true);
}

std::optional<Drawing> graphs_drawing(const NcclLog& log) {
  return draw(log, true, true);
}

}  // namespace angio::views
