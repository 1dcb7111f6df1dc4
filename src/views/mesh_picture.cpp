// Heat maps of a mesh. A colour is a share of what is usual or expected; every cell says its figure in its
// tooltip and, where there is room, in itself. Beyond 64 hosts neighbours in a row that are alike are one
// box.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/mesh_cells.hpp"
#include "views/mesh_view.hpp"

namespace angio::views {
namespace {

using model::MeshResult;
using report::Align;
using report::Box;
using report::Drawing;
using report::Label;
using report::Tone;

struct Shade {
  double least;      // share of the reference
  const char* kind;  // style class
  const char* name;
};
constexpr std::array kShades{Shade{0.9, "heat h0", "90 % and more"}, Shade{0.8, "heat h1", "80 to 90 %"},
                             Shade{0.6, "heat h2", "60 to 80 %"},    Shade{0.4, "heat h3", "40 to 60 %"},
                             Shade{0.2, "heat h4", "20 to 40 %"},    Shade{0, "heat h5", "below 20 %"}};
constexpr const char* kFailed = "heat hx";
constexpr const char* kUnknown = "heat hu";

const char* shade_of(const MeshCell& cell) {
  if (cell.measure != nullptr && cell.measure->state == model::MeshState::kFailed) return kFailed;
  if (!cell.share) return kUnknown;
  return std::ranges::find_if(kShades, [&](const Shade& shade) { return *cell.share >= shade.least; })->kind;
}

constexpr double kNames = 96;  // room for names at the left and above
constexpr double kMargin = 16;
constexpr double kWidest = 760;  // of a map
constexpr double kSmallText = 10;
constexpr double kLetter = 5.8;  // mean width of one at that size
constexpr std::uint32_t kSingleCells = 64;

class Map {
 public:
  Map(const MeshResult& result, const MeshGrid& grid, double top, Drawing& drawing)
      : result_(result),
        grid_(grid),
        top_(top),
        drawing_(drawing),
        cell_(std::clamp(kWidest / std::max(1U, grid.hosts()), 3.0, 44.0)) {}

  // Returns where the next one begins.
  double draw(const std::string& title) {
    const MeshUnit unit = mesh_unit(grid_);
    drawing_.shapes.emplace_back(Label{kMargin, top_ + 14, title, Tone::kStrong, Align::kLeft, 14});
    drawing_.shapes.emplace_back(
        Label{kMargin, top_ + 32,
              fmt::format("rows send, columns receive, in {}; 100 % is {}", unit.name, grid_.reference()),
              Tone::kQuiet, Align::kLeft, 11});
    left_ = kMargin + kNames;
    upper_ = top_ + 62;
    names();
    for (std::uint32_t from = 0; from < grid_.hosts(); ++from)
      row(from, unit);
    return upper_ + grid_.hosts() * cell_ + 24;
  }

 private:
  // So many rows from one name to the next that letters do not touch.
  [[nodiscard]] std::uint32_t step() const { return static_cast<std::uint32_t>(std::ceil(11.0 / cell_)); }

  void names() {
    const auto longest = static_cast<std::size_t>(kNames / kLetter) - 1;
    for (std::uint32_t host = 0; host < grid_.hosts(); host += step()) {
      std::string name = printable(result_.hosts[host].name);
      if (name.size() > longest) name = name.substr(0, longest - 1) + "…";
      drawing_.shapes.emplace_back(Label{left_ - 6, upper_ + (host + 0.5) * cell_ + 3.5, name, Tone::kPlain,
                                         Align::kRight, kSmallText});
    }
    // Above, only what has room beside its neighbour.
    const double widest = cell_ * step();
    std::uint32_t every = step();
    std::size_t longest_name = 0;
    for (const model::MeshHost& host : result_.hosts)
      longest_name = std::max(longest_name, std::min(longest, host.name.size()));
    while (static_cast<double>(longest_name) * kLetter + 6 > widest * (static_cast<double>(every) / step()))
      ++every;
    for (std::uint32_t host = 0; host < grid_.hosts(); host += every) {
      std::string name = printable(result_.hosts[host].name);
      if (name.size() > longest) name = name.substr(0, longest - 1) + "…";
      drawing_.shapes.emplace_back(
          Label{left_ + (host + 0.5) * cell_, upper_ - 6, name, Tone::kPlain, Align::kCentre, kSmallText});
    }
  }

  void row(std::uint32_t from, const MeshUnit& unit) {
    const bool joins = grid_.hosts() > kSingleCells;
    for (std::uint32_t to = 0; to < grid_.hosts();) {
      if (to == from) {
        ++to;
        continue;
      }
      const char* shade = shade_of(grid_.at(from, to));
      std::uint32_t end = to + 1;
      // Healthy and unknown ones only: what is slow keeps its own tooltip.
      const bool quiet = shade == kShades[0].kind || shade == kUnknown;
      while (joins && quiet && end < grid_.hosts() && end != from && shade_of(grid_.at(from, end)) == shade)
        ++end;
      box(from, to, end, shade, unit);
      to = end;
    }
  }

  void box(std::uint32_t from, std::uint32_t to, std::uint32_t end, const char* shade, const MeshUnit& unit) {
    Box box;
    const double gap = cell_ >= 8 ? 1 : 0;
    box.x = left_ + to * cell_;
    box.y = upper_ + from * cell_;
    box.width = (end - to) * cell_ - gap;
    box.height = cell_ - gap;
    box.kind = shade;
    box.tooltip = end - to == 1 ? single_words(from, to) : range_words(from, to, end, shade == kUnknown);
    drawing_.shapes.emplace_back(std::move(box));
    constexpr double kRoomForFigure = 30;
    constexpr double kRoomForCross = 9;
    const double x = left_ + (to + 0.5) * cell_ - gap / 2;
    const double y = upper_ + (from + 0.5) * cell_ + 3.5;
    if (end - to != 1) return;
    if (cell_ >= kRoomForFigure) {
      drawing_.shapes.emplace_back(Label{x, y, mesh_figure(grid_, grid_.at(from, to), unit), Tone::kPlain,
                                         Align::kCentre, kSmallText, true});
    } else if (cell_ >= kRoomForCross && shade == kFailed) {
      drawing_.shapes.emplace_back(Label{x, y, "×", Tone::kPlain, Align::kCentre, kSmallText, true});
    }
  }

  [[nodiscard]] std::string single_words(std::uint32_t from, std::uint32_t to) const {
    const MeshCell& cell = grid_.at(from, to);
    if (cell.measure == nullptr)
      return printable(result_.hosts[from].name + " to " + result_.hosts[to].name) + ": not measured";
    return mesh_cell_words(result_, cell);
  }

  [[nodiscard]] std::string range_words(std::uint32_t from, std::uint32_t to, std::uint32_t end,
                                        bool unknown) const {
    std::string words = printable(result_.hosts[from].name + " to " + result_.hosts[to].name + " … " +
                                  result_.hosts[end - 1].name);
    if (unknown) return words + ": not measured";
    double low = 1e300;
    double high = 0;
    for (std::uint32_t i = to; i < end; ++i) {
      low = std::min(low, grid_.at(from, i).share.value_or(0));
      high = std::max(high, grid_.at(from, i).share.value_or(0));
    }
    return fmt::format("{}: {:.0f} to {:.0f} %", words, low * 100, high * 100);
  }

  const MeshResult& result_;
  const MeshGrid& grid_;
  double top_;
  Drawing& drawing_;
  double cell_;
  double left_ = 0, upper_ = 0;
};

double draw_legend(double top, Drawing& drawing) {
  double x = kMargin;
  const auto add = [&](const char* kind, const std::string& name) {
    Box box;
    box.x = x;
    box.y = top;
    box.width = 18;
    box.height = 14;
    box.kind = kind;
    drawing.shapes.emplace_back(std::move(box));
    drawing.shapes.emplace_back(Label{x + 24, top + 11, name, Tone::kPlain, Align::kLeft, 11});
    x += 24 + 6.4 * static_cast<double>(name.size()) + 16;
  };
  for (const Shade& shade : kShades)
    add(shade.kind, shade.name);
  add(kFailed, "failed ×");
  add(kUnknown, "not measured");
  return top + 34;
}

}  // namespace

Drawing mesh_drawing(const MeshResult& result, const model::MeshReport& report) {
  Drawing drawing;
  drawing.title = "Mesh of " + printable(result.name);
  drawing.description = "Who reaches what with whom: rows send, columns receive.";
  double top = draw_legend(kMargin, drawing);
  constexpr std::uint32_t kMostPanels = 8;
  for (const model::MeshTransport transport : mesh_transports(result)) {
    const std::uint32_t rails = mesh_rails(result, transport);
    const bool each =
        rails > 1 && rails <= kMostPanels && !result.plan.all_nics && result.hosts.size() <= kSingleCells;
    for (std::uint32_t rail = 0; rail < (each ? rails : 1); ++rail) {
      const MeshGrid grid(result, report, transport, each ? std::optional(rail) : std::nullopt);
      if (grid.is_empty()) continue;
      std::string title(name_of(transport));
      if (each) title += fmt::format(", rail {}", rail);
      if (!each && rails > 1) title += fmt::format(", the worst of {} rails", rails);
      if (grid.is_latency()) title += ", latency";
      top = Map(result, grid, top, drawing).draw(title);
    }
  }
  const auto hosts = static_cast<double>(std::max<std::size_t>(1, result.hosts.size()));
  const double cell = std::clamp(kWidest / hosts, 3.0, 44.0);
  drawing.width = std::max(960.0, 2 * kMargin + kNames + hosts * cell);
  drawing.height = top + kMargin;
  return drawing;
}

}  // namespace angio::views
