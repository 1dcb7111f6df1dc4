#include "views/fabric_map_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "report/text_layout.hpp"
#include "views/fabric_words.hpp"

namespace angio::views {
namespace {

// CSS pixels: a sheet that a browser shows on one screen.
constexpr double kWidest = 1560;
constexpr double kHighest = 1150;
constexpr double kBestAspect = 1.7;
constexpr double kPad = 6;             // of a group's frame
constexpr double kUnderLeaf = 6;       // between a leaf and its hosts
constexpr double kMeanAdvance = 0.61;  // of system fonts, in their own size
constexpr std::uint32_t kMostFolds = 40;

constexpr std::array kScales = {
    MapScale{11, 26, 22, 4, 11, 30, 11, 18, 74}, MapScale{10, 22, 17, 3, 10, 26, 10, 14, 60},
    MapScale{0, 20, 14, 3, 10, 26, 10, 14, 40},  MapScale{0, 13, 12, 2, 9, 22, 9, 10, 26},
    MapScale{0, 9, 9, 2, 0, 20, 9, 7, 20},       MapScale{0, 7, 7, 1.5, 0, 16, 8, 5, 14},
    MapScale{0, 5, 5, 1, 0, 12, 0, 4, 8},        MapScale{0, 3.5, 3.5, 0.7, 0, 10, 0, 3, 5},
};
constexpr std::size_t kFirstTwoSided = 2;

// Sets of switches that are joined by cables below a level.
class Components {
 public:
  std::uint32_t find(std::uint32_t one) {
    const auto [at, is_new] = parents_.try_emplace(one, one);
    std::uint32_t parent = at->second;
    while (parents_[parent] != parent)
      parent = parents_[parent] = parents_[parents_[parent]];
    return at->second = parent;
  }
  void join(std::uint32_t a, std::uint32_t b) { parents_[find(a)] = find(b); }

 private:
  std::map<std::uint32_t, std::uint32_t> parents_;
};

// The part that all names begin with, up to the last character that is no digit; a row of "leaf-001" to
// "leaf-063" reads as 001 to 063 where there is no room.
std::size_t common_start(const std::vector<std::string>& names) {
  if (names.size() < 2) return 0;
  std::size_t common = names.front().size();
  for (const std::string& name : names) {
    std::size_t same = 0;
    while (same < common && same < name.size() && name[same] == names.front()[same])
      ++same;
    common = same;
  }
  while (common > 0 && names.front()[common - 1] >= '0' && names.front()[common - 1] <= '9')
    --common;
  return common;
}

// The end of a name that does not fit: switches differ in their last numbers.
std::string fit_end(const std::string& text, double width, double size) {
  constexpr std::size_t kLeast = 4;
  if (map_text_width(text, size) <= width) return text;
  const auto columns = static_cast<std::size_t>(std::max(0.0, width / (size * kMeanAdvance)));
  if (columns < kLeast || columns > text.size() || report::display_width(text) != text.size()) return {};
  return "…" + text.substr(text.size() - (columns - 1));
}

struct Plan {
  MapScale scale;
  std::uint32_t rows = 1;  // of hosts, at most
  std::uint32_t sides = 1;
  double width = 0;
  double height = 0;
  double score = std::numeric_limits<double>::max();
};

class Placer {
 public:
  Placer(const MapSection& section, const model::Fabric& fabric, const model::FabricReport& report)
      : section_(section), fabric_(fabric), report_(report) {
    for (const MapGroup& group : section.groups)
      order_.push_back(&group);
    find_rows();
    order_by_pods();
    for (const MapGroup* group : order_)
      for (const std::uint32_t host : group->hosts)
        longest_name_ = std::max(longest_name_, report::display_width(report_.hosts[host].name));
  }

  MapLayout make() {
    plan_ = choose();
    layout_.scale = plan_.scale;
    const std::size_t half = plan_.sides == 2 ? middle_of(plan_) : order_.size();
    const double first = width_of(plan_, 0, half);
    const double second = width_of(plan_, half, order_.size());
    place_groups(0, half, (plan_.width - first) / 2, plan_.sides == 2);
    place_groups(half, order_.size(), (plan_.width - second) / 2, false);
    place_upper();
    finish();
    return std::move(layout_);
  }

 private:
  [[nodiscard]] std::size_t uppers() const { return section_.levels.size(); }

  void find_rows() {
    for (const MapGroup& group : section_.groups)
      for (const std::uint32_t leaf : group.leaves)
        row_of_[leaf] = 0;
    for (std::uint32_t row = 0; row < section_.levels.size(); ++row)
      for (const std::uint32_t node : section_.levels[row])
        row_of_[node] = row + 1;
  }

  // Who is joined by what stands at or below the row.
  Components components_below(std::size_t row) const {
    Components components;
    for (const MapGroup& group : section_.groups)
      for (const std::uint32_t leaf : group.leaves)
        components.join(leaf, group.leaves.front());
    for (const MapTrunk& trunk : section_.trunks) {
      const auto lower = row_of_.find(trunk.lower);
      const auto upper = row_of_.find(trunk.upper);
      if (lower == row_of_.end() || upper == row_of_.end()) continue;
      if (lower->second <= row && upper->second <= row) components.join(trunk.lower, trunk.upper);
    }
    return components;
  }

  // Groups of one pod stand together.
  void order_by_pods() {
    for (std::size_t row = 1; row < uppers(); ++row) {
      Components components = components_below(row);
      std::map<std::uint32_t, std::size_t> first;
      std::map<const MapGroup*, std::size_t> place;
      for (std::size_t i = 0; i < order_.size(); ++i) {
        const MapGroup* group = order_[i];
        if (group->leaves.empty()) {
          place[group] = order_.size();
          continue;
        }
        place[group] = first.try_emplace(components.find(group->leaves.front()), i).first->second;
      }
      std::ranges::stable_sort(order_, {}, [&](const MapGroup* group) { return place[group]; });
      pods_ = std::move(place);
    }
  }

  // ---- sizes

  static bool has_names_in_cells(const MapGroup& group, const MapScale& scale) {
    return scale.name_font > 0 && group.leaves.size() <= 1 && group.lanes.front() == 1;
  }
  [[nodiscard]] double name_width(double font) const {
    constexpr double kLeast = 56;
    constexpr double kMost = 170;
    return std::clamp(static_cast<double>(longest_name_) * font * kMeanAdvance + 20, kLeast, kMost);
  }
  [[nodiscard]] double cell_width(const MapGroup& group, const MapScale& scale) const {
    return has_names_in_cells(group, scale) ? name_width(scale.name_font) : scale.cell_width;
  }
  static std::uint32_t folds(const MapGroup& group, std::uint32_t rows) {
    return static_cast<std::uint32_t>((group.hosts.size() + rows - 1) / std::max(rows, 1U));
  }
  [[nodiscard]] double label_width(const MapGroup& group, const Plan& plan) const {
    const bool shown = plan.scale.row_font > 0 && folds(group, plan.rows) == 1 &&
                       (group.leaves.size() > 1 || group.lanes.front() > 1);
    return shown ? name_width(plan.scale.row_font) : 0;
  }
  [[nodiscard]] double slot_width(const MapGroup& group, std::size_t leaf, const MapScale& scale) const {
    const double lanes = group.lanes[leaf];
    return lanes * cell_width(group, scale) + (lanes - 1) * scale.gap;
  }
  static double fold_gap(const MapGroup& group, std::size_t leaf, const MapScale& scale) {
    return group.lanes[leaf] > 1 ? 3 * scale.gap : scale.gap;
  }
  [[nodiscard]] double leaf_width(const MapGroup& group, std::size_t leaf, const Plan& plan) const {
    const double count = std::max(folds(group, plan.rows), 1U);
    const double cells =
        count * slot_width(group, leaf, plan.scale) + (count - 1) * fold_gap(group, leaf, plan.scale);
    return std::max(cells, plan.scale.least_box);
  }
  static double leaf_gap(const MapScale& scale) { return scale.gap * 1.5; }
  static double pad(const MapScale& scale) { return scale.cell_width >= 9 ? kPad : 2; }
  [[nodiscard]] double group_width(const MapGroup& group, const Plan& plan) const {
    double width = label_width(group, plan) + 2 * pad(plan.scale);
    for (std::size_t leaf = 0; leaf < group.lanes.size(); ++leaf)
      width += leaf_width(group, leaf, plan) + (leaf > 0 ? leaf_gap(plan.scale) : 0);
    return width;
  }
  [[nodiscard]] double width_of(const Plan& plan, std::size_t first, std::size_t end) const {
    double width = 0;
    for (std::size_t i = first; i < end; ++i)
      width += group_width(*order_[i], plan) + (i > first ? plan.scale.group_gap : 0);
    return width;
  }
  // The most switches that stand in one row need room, too.
  [[nodiscard]] double upper_width(const Plan& plan) const {
    std::size_t most = 0;
    for (const auto& level : section_.levels)
      most = std::max(most, level.size());
    return static_cast<double>(most) * (std::min(plan.scale.least_box, 30.0) + 2);
  }
  static double trunk_height(double width) { return std::clamp(width * 0.09, 60.0, 150.0); }
  [[nodiscard]] double upper_height(const Plan& plan) const {
    return static_cast<double>(uppers()) * (plan.scale.box_height + trunk_height(plan.width));
  }
  [[nodiscard]] std::uint32_t most_rows(const Plan& plan) const {
    std::size_t most = 0;
    for (const MapGroup* group : order_)
      most = std::max(most, std::min<std::size_t>(group->hosts.size(), plan.rows));
    return static_cast<std::uint32_t>(most);
  }
  [[nodiscard]] double block_height(const Plan& plan) const {
    return plan.scale.box_height + kUnderLeaf + most_rows(plan) * (plan.scale.cell_height + plan.scale.gap) +
           pad(plan.scale);
  }

  // Where the second side begins: near half of the width, between pods.
  [[nodiscard]] std::size_t middle_of(const Plan& plan) const {
    const double all = width_of(plan, 0, order_.size());
    std::size_t best = order_.size();
    double least = all;
    double width = 0;
    for (std::size_t i = 1; i < order_.size(); ++i) {
      width += group_width(*order_[i - 1], plan) + plan.scale.group_gap;
      const auto before = pods_.find(order_[i - 1]);
      const auto here = pods_.find(order_[i]);
      if (before != pods_.end() && here != pods_.end() && before->second == here->second) continue;
      if (const double off = std::abs(all / 2 - width); off < least) {
        least = off;
        best = i;
      }
    }
    return best;
  }

  // ---- the plan

  void measure(Plan& plan) const {
    const std::size_t half = plan.sides == 2 ? middle_of(plan) : order_.size();
    plan.width = std::max({width_of(plan, 0, half), width_of(plan, half, order_.size()), upper_width(plan)});
    plan.height = plan.sides * (upper_height(plan) + block_height(plan));
    bool folded = false;
    for (const MapGroup* group : order_)
      folded = folded || (folds(*group, plan.rows) > 1 && group->leaves.size() + group->lanes.front() > 2);
    plan.score =
        std::abs(std::log(plan.width / std::max(plan.height, 1.0) / kBestAspect)) + (folded ? 0.7 : 0);
  }

  [[nodiscard]] Plan choose() const {
    std::size_t most = 1;
    for (const MapGroup* group : order_)
      most = std::max(most, group->hosts.size());
    std::set<std::uint32_t> candidates;
    for (std::uint32_t fold = 1; fold <= kMostFolds; ++fold)
      candidates.insert(static_cast<std::uint32_t>((most + fold - 1) / fold));
    Plan narrowest;
    for (std::size_t at = 0; at < kScales.size(); ++at) {
      const std::uint32_t most_sides = at >= kFirstTwoSided && uppers() > 0 && order_.size() > 1 ? 2 : 1;
      for (std::uint32_t sides = 1; sides <= most_sides; ++sides) {
        Plan best;
        for (const std::uint32_t rows : candidates) {
          Plan plan{kScales.at(at), rows, sides};
          measure(plan);
          const bool fits = plan.width <= kWidest && plan.height <= kHighest;
          if (fits && plan.score < best.score) best = plan;
          const bool smallest = at + 1 == kScales.size() && sides == most_sides;
          if (smallest && (narrowest.width == 0 || plan.width < narrowest.width)) narrowest = plan;
        }
        if (best.width > 0) return best;
      }
    }
    return narrowest;
  }

  // ---- placing; everything first as if below the topmost row, at y 0

  [[nodiscard]] double row_y(std::size_t row) const {
    return static_cast<double>(uppers() - row) * (plan_.scale.box_height + trunk_height(plan_.width));
  }
  [[nodiscard]] MapRect turned(MapRect box, bool above) const {
    if (above) box.y = plan_.scale.box_height - box.bottom();
    return box;
  }

  void place_groups(std::size_t first, std::size_t end, double x, bool above) {
    for (std::size_t i = first; i < end; ++i) {
      const MapGroup& group = *order_[i];
      const double width = group_width(group, plan_);
      place_group(group, x, above);
      const double edge = pad(plan_.scale);
      if (plan_.scale.cell_width >= 9)
        layout_.frames.push_back(turned({x, row_y(0) - edge, width, block_height(plan_) + edge}, above));
      x += width + plan_.scale.group_gap;
    }
  }

  void place_group(const MapGroup& group, double left, bool above) {
    const MapScale& scale = plan_.scale;
    const double labels = label_width(group, plan_);
    double x = left + pad(scale) + labels;
    const double y = row_y(0);
    const double top = y + scale.box_height + kUnderLeaf;
    std::size_t next = 0;
    for (std::size_t leaf = 0; leaf < group.lanes.size(); ++leaf) {
      const double width = leaf_width(group, leaf, plan_);
      if (leaf < group.leaves.size()) {
        layout_.switches[group.leaves[leaf]] = turned({x, y, width, scale.box_height}, above);
      } else if (scale.box_font > 0) {
        const MapRect box = turned({x, y, width, scale.box_height}, above);
        layout_.texts.push_back({x, box.y + scale.box_height / 2 + 4, "no switch", scale.box_font});
      }
      place_cells(group, leaf, {x, top, width, 0}, above, next);
      x += width + leaf_gap(scale);
    }
    if (labels > 0) place_row_labels(group, left + pad(scale) + labels - 6, top, above);
  }

  void place_row_labels(const MapGroup& group, double right, double top, bool above) {
    const MapScale& scale = plan_.scale;
    for (std::uint32_t row = 0; row < group.hosts.size(); ++row) {
      const MapRect box =
          turned({0, top + row * (scale.cell_height + scale.gap), 0, scale.cell_height}, above);
      const std::string& name = report_.hosts[group.hosts[row]].name;
      layout_.texts.push_back({right, box.y + scale.cell_height / 2 + scale.row_font * 0.35,
                               fit_text(name, name_width(scale.row_font) - 8, scale.row_font), scale.row_font,
                               report::Align::kRight, group.hosts[row]});
    }
  }

  // Cells of one leaf, which begin at `next`; a place without a port is kept for hosts of which something is
  // said.
  void place_cells(const MapGroup& group, std::size_t leaf, MapRect area, bool above, std::size_t& next) {
    const MapScale& scale = plan_.scale;
    const double width = cell_width(group, scale);
    const double slot = slot_width(group, leaf, scale) + fold_gap(group, leaf, scale);
    const double cells = folds(group, plan_.rows) * slot - fold_gap(group, leaf, scale);
    const double left = area.x + (area.width - cells) / 2;
    std::vector<bool> taken(group.hosts.size(), false);
    const auto place_of = [&](std::uint32_t host, std::uint32_t lane) {
      return turned({left + host / plan_.rows * slot + lane * (width + scale.gap),
                     area.y + host % plan_.rows * (scale.cell_height + scale.gap), width, scale.cell_height},
                    above);
    };
    for (; next < group.cells.size() && group.cells[next].leaf == leaf; ++next) {
      const MapCell& cell = group.cells[next];
      taken[cell.host] = true;
      layout_.cells.push_back({place_of(cell.host, cell.lane), &group, &cell, group.hosts[cell.host]});
    }
    for (std::uint32_t host = 0; host < group.hosts.size(); ++host) {
      if (taken[host]) continue;
      layout_.cells.push_back({place_of(host, 0), &group, nullptr, group.hosts[host]});
      layout_.incomplete.insert(group.hosts[host]);
    }
    layout_.names_in_cells = layout_.names_in_cells || has_names_in_cells(group, scale);
  }

  // ---- switches above the leaves

  // From the row below upwards: each set of switches that is joined by what is below spreads over the width
  // of it.
  void place_upper() {
    for (std::size_t row = 1; row <= uppers(); ++row) {
      Components components = components_below(row);
      std::map<std::uint32_t, std::vector<std::uint32_t>> members;
      for (const std::uint32_t node : section_.levels[row - 1])
        members[components.find(node)].push_back(node);
      std::map<std::uint32_t, MapRect> spans;
      for (const auto& [node, box] : layout_.switches)
        widen(spans[components.find(node)], box);
      for (auto& [root, nodes] : members) {
        const auto span = spans.find(root);
        spread(nodes, span == spans.end() ? MapRect{0, 0, plan_.width, 0} : span->second, row);
      }
      push_apart(row);
    }
  }

  static void widen(MapRect& span, const MapRect& box) {
    if (span.width == 0) {
      span = box;
      return;
    }
    const double right = std::max(span.x + span.width, box.x + box.width);
    span.x = std::min(span.x, box.x);
    span.width = right - span.x;
    span.y = std::min(span.y, box.y);
  }

  void spread(const std::vector<std::uint32_t>& nodes, const MapRect& span, std::size_t row) {
    const bool on_top = row == uppers();
    const bool above = plan_.sides == 2 && !on_top && span.y < 0;
    const double pitch = span.width / static_cast<double>(nodes.size());
    const double width = std::clamp(pitch - std::min(10.0, pitch * 0.3), 3.0, 130.0);
    double x = span.x + (pitch - width) / 2;
    for (const std::uint32_t node : nodes) {
      layout_.switches[node] = turned({x, row_y(row), width, plan_.scale.box_height}, above);
      x += pitch;
    }
  }

  // Sets that overlap are moved to the right of each other.
  void push_apart(std::size_t row) {
    std::vector<MapRect*> boxes;
    for (const std::uint32_t node : section_.levels[row - 1])
      boxes.push_back(&layout_.switches[node]);
    std::ranges::stable_sort(boxes, {}, [](const MapRect* box) { return std::pair(box->y, box->x); });
    for (std::size_t i = 1; i < boxes.size(); ++i) {
      if (boxes[i]->y != boxes[i - 1]->y) continue;
      boxes[i]->x = std::max(boxes[i]->x, boxes[i - 1]->x + boxes[i - 1]->width + 1);
    }
  }

  // ---- the end

  void finish() {
    label_row(0);
    for (std::size_t row = 1; row <= uppers(); ++row)
      label_row(row);
    double top = 0;
    double bottom = 0;
    double right = 0;
    const auto see = [&](const MapRect& box) {
      top = std::min(top, box.y);
      bottom = std::max(bottom, box.bottom());
      right = std::max(right, box.x + box.width);
    };
    for (const auto& [node, box] : layout_.switches)
      see(box);
    for (const PlacedCell& cell : layout_.cells)
      see(cell.box);
    for (const MapRect& frame : layout_.frames)
      see(frame);
    layout_.width = right;
    layout_.height = bottom - top;
    for (auto& [node, box] : layout_.switches)
      box.y -= top;
    for (PlacedCell& cell : layout_.cells)
      cell.box.y -= top;
    for (MapRect& frame : layout_.frames)
      frame.y -= top;
    for (PlacedText& text : layout_.texts)
      text.y -= top;
  }

  // The caption of the row says already that they are subnets.
  static std::string map_name(const model::FabricNode& node) {
    constexpr std::string_view kSubnet = "subnet ";
    std::string name = short_name(node);
    if (node.kind == model::FabricNodeKind::kSubnet && name.starts_with(kSubnet))
      name.erase(0, kSubnet.size());
    return name;
  }

  // One way for the whole row: whole names, names without what they share, none.
  void label_row(std::size_t row) {
    const double font = plan_.scale.box_font;
    if (font == 0) return;
    std::vector<std::uint32_t> nodes;
    std::vector<std::string> names;
    for (const auto& [node, box] : layout_.switches) {
      if (row_of_[node] != row) continue;
      nodes.push_back(node);
      names.push_back(map_name(fabric_.nodes[node]));
    }
    const auto room = [&](std::size_t at) { return layout_.switches[nodes[at]].width - 3; };
    bool whole = true;
    for (std::size_t i = 0; i < names.size(); ++i)
      whole = whole && map_text_width(names[i], font) <= room(i);
    const std::size_t start = whole ? 0 : common_start(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string text = fit_end(names[i].substr(start), room(i), font);
      if (text.empty()) continue;
      layout_.labels[nodes[i]] = text;
      if (start > 0) layout_.starts[row] = names[i].substr(0, start);
    }
  }

  const MapSection& section_;
  const model::Fabric& fabric_;
  const model::FabricReport& report_;
  std::vector<const MapGroup*> order_;
  std::map<const MapGroup*, std::size_t> pods_;
  std::map<std::uint32_t, std::size_t> row_of_;
  std::size_t longest_name_ = 0;
  Plan plan_;
  MapLayout layout_;
};

}  // namespace

double map_text_width(std::string_view text, double size) {
  return static_cast<double>(report::display_width(text)) * size * kMeanAdvance;
}

std::string fit_text(const std::string& text, double width, double size) {
  constexpr std::size_t kLeast = 4;  // "le…" says nothing
  if (map_text_width(text, size) <= width) return text;
  const auto columns = static_cast<std::size_t>(std::max(0.0, width / (size * kMeanAdvance)));
  return columns < kLeast ? std::string() : report::shorten(text, columns);
}

MapLayout place_section(const MapSection& section, const model::Fabric& fabric,
                        const model::FabricReport& report) {
  return Placer(section, fabric, report).make();
}

}  // namespace angio::views
