// The map of a fabric: switches by level, cables between two of them as one line, a cell for each port of a
// host. What is wrong is listed above, numbered, and the numbers stand where it is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/doctor_report.hpp"
#include "views/fabric_map_ends.hpp"
#include "views/fabric_map_layout.hpp"
#include "views/fabric_map_words.hpp"
#include "views/fabric_view.hpp"
#include "views/fabric_words.hpp"

namespace angio::views {
namespace {

using model::PortRef;
using report::Align;
using report::Box;
using report::Connector;
using report::Label;
using report::Tone;

constexpr double kMargin = 24;
constexpr double kCaptions = 110;  // left of the rows
constexpr double kLeastWidth = 860;
constexpr double kSectionGap = 34;
constexpr std::size_t kListed = 6;        // findings above the map
constexpr std::size_t kSpots = 3;         // marked for each of them
constexpr std::size_t kDense = 100;       // bundles of cables; beyond, they are paler
constexpr double kInk = 120;              // of all bundles together: the more, the thinner each
constexpr std::size_t kMostCells = 6000;  // beyond, healthy neighbours are drawn as one

class Painter {
 public:
  Painter(const model::Fabric& fabric, const model::FabricReport& report)
      : fabric_(fabric),
        report_(report),
        marks_(fabric, report),
        words_(fabric, report),
        sections_(map_sections(fabric, report, marks_)) {
    for (const MapSection& section : sections_) {
      layouts_.push_back(place_section(section, fabric, report));
      cells_ += layouts_.back().cells.size();
      width_ = std::max(width_, layouts_.back().width + 2 * kMargin + 2 * kCaptions);
    }
    find_listed();
  }

  report::Drawing paint() {
    double y = header();
    for (std::size_t i = 0; i < sections_.size(); ++i)
      y = section(sections_[i], layouts_[i], y) + kSectionGap;
    markers();
    y = legend(y);
    report::Drawing drawing;
    drawing.width = width_;
    drawing.height = y + kMargin;
    drawing.title = "Map of the fabric " + printable(fabric_.name);
    drawing.description = fabric_headline(fabric_, report_);
    for (auto* layer : {&back_, &lines_, &loud_lines_, &boxes_, &front_})
      std::ranges::move(*layer, std::back_inserter(drawing.shapes));
    return drawing;
  }

 private:
  // ---- text

  void text(double x, double y, std::string words, double size, Tone tone = Tone::kPlain,
            Align align = Align::kLeft, bool halo = false) {
    if (!words.empty()) front_.emplace_back(Label{x, y, std::move(words), tone, align, size, halo});
  }

  void find_listed() {
    for (std::uint32_t i = 0; i < report_.findings.size() && listed_.size() < kListed; ++i)
      if (report_.findings[i].finding.severity != model::Severity::kInfo) listed_.push_back(i);
  }

  double header() {
    const double room = width_ - 2 * kMargin;
    double y = kMargin + 14;
    const std::string headline = fabric_headline(fabric_, report_);
    const double size = map_text_width(headline, 17) <= room ? 17 : 13;
    text(kMargin, y, fit_text(headline, room, size), size, Tone::kStrong);
    if (const std::string line = subtitle(); !line.empty())
      text(kMargin, y += 20, fit_text(line, room, 12), 12, Tone::kQuiet);
    y += 8;
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      const model::Finding& finding = report_.findings[listed_[i]].finding;
      const Tone tone = tone_of(finding.severity);
      y += 18;
      text(kMargin, y, std::to_string(i + 1), 12, tone);
      text(kMargin + 18, y, upper(in_words(finding.severity)), 12, tone);
      text(kMargin + 92, y, fit_text(printable(with_short_names(finding.title)), room - 92, 12), 12,
           Tone::kPlain);
    }
    if (const std::string rest = rest_words(); !rest.empty())
      text(kMargin, y += 18, rest, 12, report_.findings.empty() ? Tone::kGood : Tone::kQuiet);
    return y + 30;
  }

  [[nodiscard]] std::string subtitle() const {
    std::vector<std::string> parts;
    if (!fabric_.origin.empty()) parts.push_back(printable(fabric_.origin));
    if (fabric_.captured) parts.push_back("captured " + printable(*fabric_.captured));
    return join(parts, ", ");
  }

  [[nodiscard]] std::string rest_words() const {
    if (report_.findings.empty())
      return report_.undecided.empty() ? "no findings"
                                       : fmt::format("no findings, {} undecided", report_.undecided.size());
    std::size_t serious = 0;
    for (const model::FabricFinding& one : report_.findings)
      serious += one.finding.severity != model::Severity::kInfo ? 1U : 0U;
    std::vector<std::string> parts;
    if (serious > listed_.size()) parts.push_back(count_of(serious - listed_.size(), "more finding"));
    if (serious < report_.findings.size())
      parts.push_back(count_of(report_.findings.size() - serious, "remark"));
    return parts.empty() ? std::string() : "and " + join(parts, ", ");
  }

  // ---- a section

  double section(const MapSection& section, const MapLayout& layout, double y) {
    if (!section.title.empty()) {
      text(kMargin, y, section.title, 14, Tone::kStrong);
      y += 18;
    }
    x_ = (width_ - layout.width) / 2;
    y_ = y;
    captions(section, layout);
    trunks(section, layout);
    switches(layout);
    for (const MapRect& frame : layout.frames)
      back_.emplace_back(
          Box{x_ + frame.x, y_ + frame.y, frame.width, frame.height, {}, {}, Tone::kPlain, "package"});
    cells(layout);
    direct_links();
    for (const PlacedText& placed : layout.texts) {
      const Mark mark = placed.host < report_.hosts.size() ? marks_.host(placed.host) : Mark{};
      text(x_ + placed.x, y_ + placed.y, printable(placed.text), placed.size,
           mark.level > Mark::kInfo ? tone_of(mark) : Tone::kPlain, placed.align);
    }
    return y + layout.height;
  }

  void captions(const MapSection& section, const MapLayout& layout) {
    std::map<double, std::pair<std::string, std::size_t>> rows;  // by y
    const auto count = [&](std::uint32_t node, const std::string& name) {
      const auto box = layout.switches.find(node);
      if (box == layout.switches.end()) return;
      auto& row = rows[box->second.y];
      row.first = name;
      ++row.second;
    };
    for (const MapGroup& group : section.groups)
      for (const std::uint32_t leaf : group.leaves)
        count(leaf, caption(layout, 0));
    for (std::size_t level = 0; level < section.levels.size(); ++level)
      for (const std::uint32_t node : section.levels[level])
        count(node, caption(layout, level + 1));
    for (const auto& [row, words] : rows) {
      const double middle = y_ + row + layout.scale.box_height / 2;
      text(kMargin, middle - 2, words.first, 11, Tone::kQuiet);
      text(kMargin, middle + 11, count_row(words.second), 11, Tone::kQuiet);
    }
  }

  [[nodiscard]] std::string count_row(std::size_t count) const {
    return report_.facts.subnets > 0 ? count_of(count, "subnet") : count_switches(count);
  }

  // "level 1: leaf-…" where the names in the boxes begin behind that.
  static std::string caption(const MapLayout& layout, std::size_t row) {
    const std::string level = "level " + std::to_string(row + 1);
    const auto start = layout.starts.find(row);
    if (start == layout.starts.end()) return level;
    const std::string whole = level + ": " + printable(start->second) + "…";
    return map_text_width(whole, 11) <= kCaptions - 6 ? whole : level;
  }

  // ---- cables between switches

  void trunks(const MapSection& section, const MapLayout& layout) {
    double most = 0;
    MapEnds ends;
    for (std::size_t i = 0; i < section.trunks.size(); ++i) {
      const MapTrunk& trunk = section.trunks[i];
      const auto lower = layout.switches.find(trunk.lower);
      const auto upper_box = layout.switches.find(trunk.upper);
      if (lower == layout.switches.end() || upper_box == layout.switches.end()) continue;
      most = std::max(most, trunk.bits_per_second);
      const bool up = upper_box->second.y < lower->second.y;
      ends.add(trunk.lower, up, upper_box->second.middle(), i);
      ends.add(trunk.upper, !up, lower->second.middle(), i);
    }
    ends.sort();
    const bool dense = section.trunks.size() > kDense;
    const double widest =
        std::clamp(kInk / static_cast<double>(std::max<std::size_t>(section.trunks.size(), 1)), 0.6, 6.0);
    for (std::size_t i = 0; i < section.trunks.size(); ++i) {
      const MapTrunk& trunk = section.trunks[i];
      const auto lower = layout.switches.find(trunk.lower);
      const auto upper_box = layout.switches.find(trunk.upper);
      if (lower == layout.switches.end() || upper_box == layout.switches.end()) continue;
      const double share = most > 0 && trunk.bits_per_second > 0 ? trunk.bits_per_second / most : 0.5;
      Connector line;
      line.width = std::max(widest * share, 0.4);
      line.kind = dense ? "trunk dense" : "trunk";
      line.points = way(lower->second, ends.x(lower->second, trunk.lower, i), upper_box->second,
                        ends.x(upper_box->second, trunk.upper, i));
      finish(trunk, std::move(line));
    }
  }

  [[nodiscard]] std::vector<std::pair<double, double>> way(const MapRect& a, double ax, const MapRect& b,
                                                           double bx) const {
    constexpr double kArc = 22;
    const double from = x_ + ax;
    const double to = x_ + bx;
    if (a.y == b.y) return {{from, y_ + a.y}, {from, y_ + a.y - kArc}, {to, y_ + a.y - kArc}, {to, y_ + a.y}};
    return a.y > b.y ? std::vector<std::pair<double, double>>{{from, y_ + a.y}, {to, y_ + b.bottom()}}
                     : std::vector<std::pair<double, double>>{{from, y_ + a.bottom()}, {to, y_ + b.y}};
  }

  void finish(const MapTrunk& trunk, Connector line) {
    constexpr double kLoud = 2.4;
    line.tooltip = words_.of_trunk(trunk);
    line.tone = tone_of(trunk.mark);
    const bool loud = trunk.mark.level >= Mark::kWarning;
    if (loud && trunk.degraded > 0) {
      line.tone = Tone::kCritical;
      line.dashed = true;
    }
    if (loud) line.width = std::max(line.width, kLoud);
    trunk_at_[{trunk.lower, trunk.upper}] = line.points;
    (loud ? loud_lines_ : lines_).emplace_back(std::move(line));
  }

  // ---- switches

  void switches(const MapLayout& layout) {
    const bool named = layout.scale.box_font > 0;
    for (const auto& [node, box] : layout.switches) {
      const Mark mark = marks_.node(node);
      const MapRect placed{x_ + box.x, y_ + box.y, box.width, box.height};
      boxes_.emplace_back(Box{placed.x,
                              placed.y,
                              placed.width,
                              placed.height,
                              {},
                              words_.of_switch(node, mark),
                              tone_of(mark),
                              "switch"});
      switch_at_[node] = placed;
      const auto label = layout.labels.find(node);
      if (named && label != layout.labels.end())
        text(placed.middle(), placed.y + placed.height / 2 + layout.scale.box_font * 0.35, label->second,
             layout.scale.box_font, mark.level >= Mark::kWarning ? tone_of(mark) : Tone::kPlain,
             Align::kCentre);
    }
  }

  // ---- hosts

  // What is said of a host stands at the port that it lacks, or at all that it has.
  [[nodiscard]] Mark mark_of(const MapLayout& layout, const PlacedCell& placed) const {
    const Mark host = marks_.host(placed.host);
    if (placed.cell == nullptr) return host;
    const Mark own = marks_.node(placed.cell->adapter);
    const Mark node = layout.incomplete.contains(placed.host) ? own : louder(host, own);
    if (!placed.cell->port) return node;
    return louder(node, marks_.link({placed.cell->adapter, *placed.cell->port}));
  }

  void cells(const MapLayout& layout) {
    const bool merge = cells_ > kMostCells;
    for (std::size_t i = 0; i < layout.cells.size();) {
      const PlacedCell& first = layout.cells[i];
      std::size_t end = i + 1;
      if (merge && first.cell != nullptr && mark_of(layout, first).level <= Mark::kInfo) {
        while (end < layout.cells.size() && continues(layout, end))
          ++end;
      }
      if (end == i + 1) {
        cell(layout, first);
      } else {
        strip(layout, i, end);
      }
      i = end;
    }
  }

  // Right below the one before, and nothing is said of either.
  [[nodiscard]] bool continues(const MapLayout& layout, std::size_t at) const {
    const PlacedCell& before = layout.cells[at - 1];
    const PlacedCell& here = layout.cells[at];
    return here.cell != nullptr && before.group == here.group && before.cell->leaf == here.cell->leaf &&
           before.box.x == here.box.x && mark_of(layout, here).level <= Mark::kInfo;
  }

  void cell(const MapLayout& layout, const PlacedCell& placed) {
    const Mark mark = mark_of(layout, placed);
    if (placed.cell == nullptr && mark.level < Mark::kWarning) return;
    const MapRect box{x_ + placed.box.x, y_ + placed.box.y, placed.box.width, placed.box.height};
    const bool named =
        layout.names_in_cells && placed.group->leaves.size() <= 1 && placed.group->lanes.front() == 1;
    Tone tone = tone_of(mark);
    if (placed.cell == nullptr) {
      boxes_.emplace_back(
          Box{box.x, box.y, box.width, box.height, {}, words_.of_cell(placed, mark), tone, "ring"});
      remember(placed, box);
      return;
    }
    if (mark.level >= Mark::kWarning && placed.cell->port &&
        marks_.is_degraded({placed.cell->adapter, *placed.cell->port}))
      tone = Tone::kCritical;
    boxes_.emplace_back(Box{box.x,
                            box.y,
                            box.width,
                            box.height,
                            {},
                            words_.of_cell(placed, mark),
                            tone,
                            named ? "host" : "cell"});
    remember(placed, box);
    if (!named) return;
    numbered_.emplace(box.x, box.y);
    const double font = layout.scale.name_font;
    // The number of the finding beside the name: above the cell it would lie on another name.
    std::string name = printable(report_.hosts[placed.host].name);
    if (const auto number = number_of(mark)) name = std::to_string(*number + 1) + " " + name;
    text(box.middle(), box.y + box.height / 2 + font * 0.35, fit_text(name, box.width - 4, font), font,
         mark.level >= Mark::kWarning ? tone : Tone::kPlain, Align::kCentre);
  }

  [[nodiscard]] std::optional<std::size_t> number_of(Mark mark) const {
    const auto found = std::ranges::find(listed_, mark.finding);
    return found == listed_.end() ? std::nullopt : std::optional<std::size_t>(found - listed_.begin());
  }

  void remember(const PlacedCell& placed, const MapRect& box) {
    if (placed.cell == nullptr) {
      missing_at_.try_emplace(placed.host, box);
      return;
    }
    host_at_.try_emplace(placed.host, box);
    adapter_at_.try_emplace(placed.cell->adapter, box);
    if (placed.cell->port) port_at_[{placed.cell->adapter, *placed.cell->port}] = box;
  }

  // Several hosts in one box.
  void strip(const MapLayout& layout, std::size_t first, std::size_t end) {
    MapRect box = layout.cells[first].box;
    const MapRect& last = layout.cells[end - 1].box;
    const double bottom = std::max(box.bottom(), last.bottom());
    box.y = std::min(box.y, last.y);
    box.height = bottom - box.y;
    std::string words = words_.of_cells(std::span(layout.cells).subspan(first, end - first));
    boxes_.emplace_back(
        Box{x_ + box.x, y_ + box.y, box.width, box.height, {}, std::move(words), Tone::kPlain, "cell"});
  }

  // Adapters that are cabled to each other.
  void direct_links() {
    for (const auto& [port, box] : port_at_) {
      const auto& peer = model::port_at(fabric_, port).peer;
      if (!peer || *peer < port) continue;
      const auto other = port_at_.find(*peer);
      if (other == port_at_.end()) continue;
      const Mark mark = marks_.link(port);
      Connector line;
      line.points = {{box.x + box.width, box.y + box.height / 2},
                     {other->second.x, other->second.y + other->second.height / 2}};
      if (box.x == other->second.x)
        line.points = {{box.middle(), box.bottom()}, {box.middle(), other->second.y}};
      line.width = 2;
      line.tone = tone_of(mark);
      line.dashed = mark.level >= Mark::kWarning;
      line.kind = "network";
      line.tooltip = words_.of_cable(port, mark);
      lines_.emplace_back(std::move(line));
    }
  }

  // ---- numbers of the listed findings, where they are

  void markers() {
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      std::size_t placed = 0;
      const model::FabricFinding& finding = report_.findings[listed_[i]];
      for (const MapRect& spot : spots(finding)) {
        if (placed == kSpots) break;
        if (put_marker(i, spot, tone_of(finding.finding.severity))) ++placed;
      }
    }
  }

  [[nodiscard]] std::vector<MapRect> spots(const model::FabricFinding& finding) const {
    std::vector<MapRect> found;
    for (const PortRef ref : finding.ports) {
      if (found.size() > 2 * kSpots) break;
      if (const auto spot = spot_of(ref)) found.push_back(*spot);
    }
    if (!finding.ports.empty()) return found;
    const auto add = [&](const auto& places, std::uint32_t key) {
      if (const auto at = places.find(key); at != places.end() && found.size() <= 2 * kSpots)
        found.push_back(at->second);
    };
    // The port that a host lacks is the place, if it lacks one.
    if (finding.hosts.size() == 1) add(missing_at_, finding.hosts.front());
    if (!found.empty()) return found;
    for (const std::uint32_t node : finding.nodes) {
      add(switch_at_, node);
      add(adapter_at_, node);
    }
    if (!finding.nodes.empty()) return found;
    for (const std::uint32_t host : finding.hosts)
      add(host_at_, host);
    return found;
  }

  [[nodiscard]] std::optional<MapRect> spot_of(PortRef ref) const {
    if (ref.node >= fabric_.nodes.size() || ref.port >= fabric_.nodes[ref.node].ports.size())
      return std::nullopt;
    const auto& peer = model::port_at(fabric_, ref).peer;
    for (const std::optional<PortRef>& end : {std::optional(ref), peer}) {
      if (!end) continue;
      if (const auto at = port_at_.find(*end); at != port_at_.end()) return at->second;
    }
    if (peer) {
      for (const auto& key : {std::pair(ref.node, peer->node), std::pair(peer->node, ref.node)}) {
        const auto trunk = trunk_at_.find(key);
        if (trunk == trunk_at_.end()) continue;
        const auto& [from, to] = std::pair(trunk->second.front(), trunk->second.back());
        return MapRect{(from.first + to.first) / 2 - 1, (from.second + to.second) / 2 - 1, 2, 2};
      }
    }
    const auto box = switch_at_.find(ref.node);
    return box != switch_at_.end() ? std::optional(box->second) : std::nullopt;
  }

  bool put_marker(std::size_t number, const MapRect& spot, Tone tone) {
    constexpr double kSize = 13;
    if (numbered_.contains({spot.x, spot.y})) return true;
    const MapRect box{spot.middle() - 6, spot.y - 15, 12, 13};
    for (const MapRect& other : marked_) {
      if (std::abs(other.x - box.x) < 13 && std::abs(other.y - box.y) < 13) return false;
    }
    marked_.push_back(box);
    constexpr double kSmall = 16;
    if (spot.width > 2 && spot.width <= kSmall)
      boxes_.emplace_back(
          Box{spot.x - 2.5, spot.y - 2.5, spot.width + 5, spot.height + 5, {}, {}, tone, "ring"});
    text(spot.middle(), spot.y - 4, std::to_string(number + 1), kSize, tone, Align::kCentre, true);
    return true;
  }

  // ---- legend

  double legend(double y) {
    double x = kMargin;
    const auto word = [&](const std::string& words) {
      text(x, y + 4, words, 11, Tone::kQuiet);
      x += map_text_width(words, 11) + 22;
    };
    const auto sample = [&](Tone tone) {
      boxes_.emplace_back(Box{x, y - 5, 10, 10, {}, {}, tone, "cell"});
      x += 16;
    };
    const auto line = [&](Tone tone, bool dashed, double width) {
      lines_.emplace_back(Connector{{{x, y}, {x + 30, y}}, width, tone, dashed, {}, "trunk"});
      x += 36;
    };
    sample(Tone::kPlain);
    word(cells_ > kMostCells ? "ports of hosts (alike ones are joined)" : "port of a host");
    line(Tone::kPlain, false, 4);
    word("cables between two switches, width: bandwidth");
    line(Tone::kCritical, true, 2.4);
    word("slower than it should be, or down");
    sample(Tone::kCritical);
    sample(Tone::kWarning);
    word("critical, warning");
    sample(Tone::kUnknown);
    word("unknown");
    width_ = std::max(width_, x);
    return y;
  }

  const model::Fabric& fabric_;
  const model::FabricReport& report_;
  FabricMarks marks_;
  MapWords words_;
  std::vector<MapSection> sections_;
  std::vector<MapLayout> layouts_;
  std::vector<std::uint32_t> listed_;  // findings above the map
  std::size_t cells_ = 0;
  double width_ = kLeastWidth;
  double x_ = 0;  // of the section that is drawn
  double y_ = 0;
  std::vector<report::Shape> back_, lines_, loud_lines_, boxes_, front_;
  std::map<std::uint32_t, MapRect> switch_at_, adapter_at_, host_at_, missing_at_;
  std::map<PortRef, MapRect> port_at_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<double, double>>> trunk_at_;
  std::vector<MapRect> marked_;
  std::set<std::pair<double, double>> numbered_;  // cells whose names have the number
};

}  // namespace

report::Drawing fabric_drawing(const model::Fabric& fabric, const model::FabricReport& report) {
  return Painter(fabric, report).paint();
}

}  // namespace angio::views
