// The picture of node 0 with a ring of NCCL's drawn over it: from GPU to GPU in the ring's order, and on runs
// over several nodes to the NICs through which the ring leaves and enters the node.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "views/dryrun_facts.hpp"
#include "views/dryrun_view.hpp"
#include "views/nccl_hops.hpp"
#include "views/nccl_log_words.hpp"
#include "views/nccl_ring_words.hpp"
#include "views/topology_outline.hpp"
#include "views/topology_picture.hpp"

namespace angio::views {
namespace {

using report::Box;
using report::Connector;
using report::Drawing;
using report::Label;
using report::Tone;
using Point = std::pair<double, double>;

constexpr std::size_t kMostPictures = 4;
constexpr double kHeadRoom = 28;
constexpr double kBend = 14;  // how far a hop bows out between two devices
constexpr double kHighest = 44;

struct Place {
  double left = 0, right = 0, top = 0, bottom = 0;
  [[nodiscard]] double x() const { return (left + right) / 2; }
  [[nodiscard]] double y() const { return (top + bottom) / 2; }
};

// Where the picture put a GPU and the adapters, by their titles.
class Places {
 public:
  explicit Places(const Drawing& drawing) {
    for (const report::Shape& shape : drawing.shapes) {
      const auto* box = std::get_if<Box>(&shape);
      if (box != nullptr && (box->kind == "gpu" || box->kind == "nic"))
        boxes_.emplace(box->title, Place{box->x, box->x + box->width, box->y, box->y + box->height});
    }
  }
  [[nodiscard]] const Place* gpu(std::uint32_t index) const { return find(fmt::format("GPU {}", index)); }
  [[nodiscard]] const Place* nic(const std::string& name) const { return find(name); }

 private:
  [[nodiscard]] const Place* find(const std::string& title) const {
    const auto found = boxes_.find(title);
    return found == boxes_.end() ? nullptr : &found->second;
  }
  std::map<std::string, Place> boxes_;
};

// From device to device: within a row over the boxes forwards and under them backwards, between rows from
// edge to edge, so that lines do not lie on words.
std::vector<Point> bow(const Place& from, const Place& to) {
  constexpr int kSteps = 14;
  constexpr double kAside = 9;  // of the middle, so that arriving and leaving lines do not meet
  const double way = to.x() >= from.x() ? 1 : -1;
  const bool down = to.top > from.bottom;
  const bool up = to.bottom < from.top;
  const bool over = up || (!down && way > 0);
  const Point a{from.x() + way * kAside, over ? from.top : from.bottom};
  const Point b{to.x() - way * kAside, down || (over && !up) ? to.top : to.bottom};
  const double lift = up || down ? 0 : std::min(kHighest, kBend + std::abs(b.first - a.first) / 24);
  std::vector<Point> points;
  for (int i = 0; i <= kSteps; ++i) {
    const double t = static_cast<double>(i) / kSteps;
    const double rise = -way * lift * 4 * t * (1 - t);
    points.emplace_back(a.first + (b.first - a.first) * t, a.second + (b.second - a.second) * t + rise);
  }
  return points;
}

std::vector<Point> head_of(const std::vector<Point>& points) {
  constexpr double kSize = 7;
  const auto [x, y] = points.back();
  const auto [px, py] = points[points.size() - 2];
  // Not std::hypot: that of glibc 2.35 is a younger symbol than the binary may need.
  const double length = std::max(1e-6, std::sqrt((x - px) * (x - px) + (y - py) * (y - py)));
  const double dx = (x - px) / length * kSize;
  const double dy = (y - py) / length * kSize;
  return {{x - dx - dy * 0.6, y - dy + dx * 0.6}, {x, y}, {x - dx + dy * 0.6, y - dy - dx * 0.6}};
}

class Overlay {
 public:
  Overlay(const model::NcclLog& log, const model::NcclCommunicator& world, const model::DryRun& run)
      : hops_(log, world), nodes_(run.ranks_per_node), ranks_(world.nranks) {
    for (const model::NcclRank& rank : world.ranks)
      if (rank.rank && rank.cuda_device && *rank.cuda_device >= 0)
        devices_[*rank.rank] = static_cast<std::uint32_t>(*rank.cuda_device);
    const auto adapters = adapters_of(log, nodes_, DryRunGraph::kRing);
    if (const auto found = adapters.find(0); found != adapters.end()) adapters_ = found->second;
  }

  Drawing draw(Drawing drawing, const DistinctRing& ring, std::size_t rings) {
    const Places places(drawing);
    std::vector<report::Shape> lines;
    std::vector<report::Shape> numbers;
    const std::size_t count = ring.order.size();
    std::size_t step = 0;
    for (std::size_t i = 0; i < (count < ranks_ ? count - 1 : count); ++i) {
      const std::uint32_t from = ring.order[i];
      const std::uint32_t to = ring.order[(i + 1) % count];
      const bool leaves = nodes_.node(from) == 0;
      const bool enters = nodes_.node(to) == 0;
      if ((!leaves && !enters) || from == to) continue;
      const Place* a = leaves ? place_of(places, from) : adapter(places, ring, false);
      const Place* b = enters ? place_of(places, to) : adapter(places, ring, true);
      if (a == nullptr || b == nullptr || a == b) continue;
      hop(from, to, bow(*a, *b), ++step, lines, numbers);
    }
    return finish(std::move(drawing), ring, rings, std::move(lines), std::move(numbers));
  }

 private:
  [[nodiscard]] const Place* place_of(const Places& places, std::uint32_t rank) const {
    const auto device = devices_.find(rank);
    return device == devices_.end() ? nullptr : places.gpu(device->second);
  }

  // The first adapter of the ring's channels; several channels of one ring may have several.
  [[nodiscard]] const Place* adapter(const Places& places, const DistinctRing& ring, bool out) const {
    for (const std::uint32_t channel : ring.channels) {
      const auto found = adapters_.find(channel);
      if (found == adapters_.end()) continue;
      for (const std::string& name : out ? found->second.out : found->second.in)
        if (const Place* place = places.nic(name)) return place;
    }
    return nullptr;
  }

  void hop(std::uint32_t from, std::uint32_t to, std::vector<Point> points, std::size_t step,
           std::vector<report::Shape>& lines, std::vector<report::Shape>& numbers) const {
    const Hop known = hops_.between(from, to);
    Connector line = connector_of(known);
    line.width = 3.5;
    line.tooltip = fmt::format("hop {}: rank {} to rank {}: {}", step, from, to, printable(line.tooltip));
    line.points = points;
    Connector head = line;
    head.dashed = false;
    head.width = 2.5;
    head.points = head_of(points);
    // Lines between rows cross in their middles, and numbers would lie on each other there.
    const bool level = std::abs(points.front().second - points.back().second) < 1;
    const auto [x, y] = points[level ? points.size() / 2 : points.size() / 3];
    Label number{x, y + 4, std::to_string(step), line.tone, report::Align::kCentre, 11};
    number.halo = true;
    lines.emplace_back(std::move(line));
    lines.emplace_back(std::move(head));
    numbers.emplace_back(std::move(number));
  }

  Drawing finish(Drawing drawing, const DistinctRing& ring, std::size_t rings,
                 std::vector<report::Shape> lines, std::vector<report::Shape> numbers) const {
    for (report::Shape& shape : drawing.shapes)
      std::visit([](auto& each) { move_down(each); }, shape);
    for (auto* layer : {&lines, &numbers})
      for (report::Shape& shape : *layer) {
        std::visit([](auto& each) { move_down(each); }, shape);
        drawing.shapes.push_back(std::move(shape));
      }
    std::string words = fmt::format("{} {}{}: {}", ring.channels.size() == 1 ? "Channel" : "Channels",
                                    rank_list(ring.channels), rings == 1 ? ", all alike" : "",
                                    ring_words(ring, nodes_, ranks_));
    if (nodes_.nodes() > 1) words += "; here the part on node 0";
    drawing.shapes.emplace_back(Label{16, 18, words, Tone::kStrong, report::Align::kLeft, 14});
    drawing.height += kHeadRoom;
    drawing.width = std::max(drawing.width, 32 + static_cast<double>(words.size()) * 8);
    drawing.title = "A ring of NCCL's over the machine";
    drawing.description = words;
    return drawing;
  }

  static void move_down(Box& box) { box.y += kHeadRoom; }
  static void move_down(Label& label) { label.y += kHeadRoom; }
  static void move_down(Connector& line) {
    for (auto& [x, y] : line.points)
      y += kHeadRoom;
  }

  Hops hops_;
  NodeOfRank nodes_;
  std::size_t ranks_;
  NodeAdapters adapters_;
  std::map<std::uint32_t, std::uint32_t> devices_;
};

}  // namespace

std::vector<Drawing> dryrun_machine_drawings(const model::DryRun& run, const model::Machine& machine) {
  std::vector<Drawing> drawings;
  if (!run.evidence.log || machine.gpus.empty()) return drawings;
  const model::NcclCommunicator* world = communicator_with_rings(*run.evidence.log);
  if (world == nullptr) return drawings;
  const std::vector<DistinctRing> rings = distinct_rings(*world);
  const Drawing bare = topology_picture(machine, make_outline(machine), PictureHeading::kNone);
  Overlay overlay(*run.evidence.log, *world, run);
  for (std::size_t i = 0; i < std::min(rings.size(), kMostPictures); ++i)
    drawings.push_back(overlay.draw(bare, rings[i], rings.size()));
  return drawings;
}

}  // namespace angio::views
