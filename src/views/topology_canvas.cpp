#include "views/topology_canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/text_layout.hpp"
#include "views/topology_matrix.hpp"
#include "views/topology_words.hpp"

namespace angio::views {
namespace {

using model::DeviceKind;
using model::Machine;
using model::Path;
using model::PathClass;
using report::Align;
using report::Tone;

constexpr double kDrop = 30;            // from the packages to the bar
constexpr double kLane = 17;            // between two links drawn side by side
constexpr double kMostStep = 11;        // between the ends of two brackets at one GPU
constexpr double kEndsWidth = 90;       // of all ends at one GPU
constexpr std::size_t kMostPairs = 64;  // beyond this the picture would be a thicket; the matrix tells
constexpr double kMeanAdvance = 0.59;   // of system fonts, in their size

Path between(const Machine& machine, std::uint32_t a, std::uint32_t b) {
  return model::path_between(machine, {DeviceKind::kGpu, a}, {DeviceKind::kGpu, b});
}

double draw_bar(const Machine& machine, Weave weave, Canvas& canvas, double y) {
  const std::string family(link_family(machine));
  const double top = y + kDrop;
  std::string title = weave == Weave::kSwitch ? "NVSwitch: every GPU to every other"
                                              : family + ": every GPU directly to every other";
  if (weave == Weave::kAllToAll) title += ", " + cell_text(machine, between(machine, 0, 1)) + " per pair";
  for (const Anchor& gpu : canvas.gpus) {
    const NvLinkCount count = count_nvlinks(machine, gpu.index);
    const Path stated = between(machine, gpu.index, gpu.index == 0 ? 1 : 0);
    const std::uint32_t links = count.active > 0 ? count.active : stated.links;
    report::Connector line{{{gpu.x, gpu.y}, {gpu.x, top}}, 3, Tone::kPlain, false, {}, "nvlink"};
    line.tooltip = fmt::format("GPU {}: {} active {}s", gpu.index, links, family);
    std::string text = fmt::format("{} links", links);
    if (weave == Weave::kAllToAll && count.active == 0) text = cell_text(machine, stated);
    if (count.fewer_than_alike) {
      line.tone = Tone::kCritical;
      line.dashed = true;
      text = fmt::format("{} of {}", links, count.total);
      canvas.troubles.push_back(
          fmt::format("GPU {}: {} of {} {}s active", gpu.index, links, count.total, family));
    }
    canvas.lines.emplace_back(line);
    canvas.front.emplace_back(report::Label{
        gpu.x + 6, top - 8, text, count.fewer_than_alike ? Tone::kCritical : Tone::kQuiet, Align::kLeft, 11});
  }
  if (canvas.bars++ > 0) title = weave == Weave::kSwitch ? "the same NVSwitch fabric" : "the same links";
  canvas.front.emplace_back(report::Box{canvas.left, top, canvas.right - canvas.left, kBarHeight, title,
                                        title, Tone::kPlain, "nvlink"});
  return top + kBarHeight;
}

struct Pair {
  Anchor a;  // left of b
  Anchor b;
  Path path;
  double left = 0;  // where the bracket leaves a, and reaches b
  double right = 0;
  [[nodiscard]] double length() const { return b.x - a.x; }
};

std::vector<Pair> linked_pairs(const Machine& machine, const std::vector<Anchor>& gpus) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      const Path path = between(machine, gpus[i].index, gpus[j].index);
      if (path.kind == PathClass::kNvLink) pairs.push_back({gpus[i], gpus[j], path});
    }
  }
  // Short ones first, so that they lie nearest to the GPUs.
  std::ranges::stable_sort(pairs, {}, &Pair::length);
  return pairs;
}

// Linked pairs with one GPU in this row and the other in another one.
std::size_t count_pairs_out_of(const Machine& machine, const std::vector<Anchor>& gpus) {
  std::size_t count = 0;
  for (const Anchor& gpu : gpus) {
    for (std::uint32_t other = 0; other < machine.gpus.size(); ++other) {
      if (std::ranges::find(gpus, other, &Anchor::index) != gpus.end()) continue;
      count += between(machine, gpu.index, other).kind == PathClass::kNvLink ? 1 : 0;
    }
  }
  return count;
}

// Brackets leave a GPU side by side: those to the left on the left. The longest lie innermost, so that they
// pass below the shorter ones of their side without crossing them.
void spread_ends(const std::vector<Anchor>& gpus, std::vector<Pair>& pairs) {
  for (const Anchor& gpu : gpus) {
    std::vector<double*> ends;
    for (Pair& pair : pairs) {
      if (pair.b.index == gpu.index) ends.push_back(&pair.right);
    }
    for (std::size_t i = pairs.size(); i-- > 0;) {
      if (pairs[i].a.index == gpu.index) ends.push_back(&pairs[i].left);
    }
    if (ends.empty()) continue;
    const double step = std::min(kMostStep, kEndsWidth / static_cast<double>(ends.size()));
    double x = gpu.x - step * static_cast<double>(ends.size() - 1) / 2;
    for (double* end : ends) {
      *end = x;
      x += step;
    }
  }
}

// For each pair the lane it lies on; brackets that would touch lie on different lanes.
std::vector<std::size_t> choose_lanes(const std::vector<Pair>& pairs) {
  std::vector<std::vector<std::pair<double, double>>> lanes;
  std::vector<std::size_t> chosen;
  for (const Pair& pair : pairs) {
    auto lane = std::ranges::find_if(lanes, [&](const auto& taken) {
      return std::ranges::none_of(
          taken, [&](auto span) { return pair.left <= span.second + 4 && pair.right >= span.first - 4; });
    });
    if (lane == lanes.end()) lane = lanes.emplace(lanes.end());
    lane->emplace_back(pair.left, pair.right);
    chosen.push_back(static_cast<std::size_t>(lane - lanes.begin()));
  }
  return chosen;
}

void draw_bracket(const Machine& machine, const Pair& pair, double level, Canvas& canvas) {
  const std::string text = cell_text(machine, pair.path);
  canvas.lines.emplace_back(report::Connector{
      {{pair.left, pair.a.y}, {pair.left, level}, {pair.right, level}, {pair.right, pair.b.y}},
      std::min(5.0, 1 + 0.5 * pair.path.links),
      Tone::kPlain,
      false,
      fmt::format("GPU {} to GPU {}: {}", pair.a.index, pair.b.index, text),
      "nvlink"});
  report::Label label{(pair.left + pair.right) / 2, level + 4, text, Tone::kQuiet, Align::kCentre, 10.5};
  label.halo = true;
  canvas.front.emplace_back(std::move(label));
}

// Each pair is a bracket below the GPUs.
double draw_brackets(const Machine& machine, Canvas& canvas, double y) {
  std::vector<Pair> pairs = linked_pairs(machine, canvas.gpus);
  const std::size_t elsewhere = count_pairs_out_of(machine, canvas.gpus);
  std::string remark;
  if (elsewhere > 0) {
    remark =
        fmt::format("{} more of these GPUs' links lead to GPUs of another row: see the matrix", elsewhere);
  }
  if (pairs.size() > kMostPairs) {
    remark = fmt::format("{} pairs of GPUs share {}s: see the matrix", pairs.size(), link_family(machine));
    pairs.clear();
  }
  if (!pairs.empty()) {
    spread_ends(canvas.gpus, pairs);
    const std::vector<std::size_t> lanes = choose_lanes(pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i)
      draw_bracket(machine, pairs[i], y + 14 + kLane * static_cast<double>(lanes[i]), canvas);
    y += 14 + kLane * static_cast<double>(*std::ranges::max_element(lanes) + 1);
  }
  if (remark.empty()) return y;
  canvas.front.emplace_back(report::Label{canvas.left + 7, y + 14, remark, Tone::kQuiet, Align::kLeft, 12});
  return y + 24;
}

}  // namespace

std::string fit(const std::string& text, double width, double size) {
  return report::shorten(text, static_cast<std::size_t>(std::max(1.0, width / (size * kMeanAdvance))));
}

Weave weave_of(const Machine& machine) {
  const auto count = static_cast<std::uint32_t>(machine.gpus.size());
  std::optional<std::uint32_t> links;
  bool all = count > 2;
  bool some = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (count_nvlinks(machine, i).to_switch > 0) return Weave::kSwitch;
    for (std::uint32_t j = i + 1; j < count; ++j) {
      const Path path = between(machine, i, j);
      const bool linked = path.kind == PathClass::kNvLink;
      some = some || linked;
      all = all && linked && links.value_or(path.links) == path.links;
      if (linked) links = path.links;
    }
  }
  return all ? Weave::kAllToAll : some ? Weave::kSomePairs : Weave::kNone;
}

double draw_gpu_links(const Machine& machine, Weave weave, Canvas& canvas, double y) {
  if (weave == Weave::kNone || canvas.gpus.empty()) return y;
  return weave == Weave::kSomePairs ? draw_brackets(machine, canvas, y) : draw_bar(machine, weave, canvas, y);
}

double draw_nic_ports(Canvas& canvas, double y) {
  bool any = false;
  for (const Anchor& nic : canvas.nics) {
    const NicPort& port = canvas.nic_ports[nic.index];
    if (port.text.empty() && port.detail.empty()) continue;
    any = true;
    const bool bad = port.tone == Tone::kCritical;
    canvas.lines.emplace_back(report::Connector{{{nic.x, nic.y}, {nic.x, y + 12}},
                                                2,
                                                bad ? Tone::kCritical : Tone::kPlain,
                                                bad,
                                                port.tooltip,
                                                "network"});
    const Tone text = bad ? Tone::kCritical : Tone::kPlain;
    double below = y + 25;
    if (!port.text.empty()) {
      canvas.front.emplace_back(report::Label{nic.x, below, port.text, text, Align::kCentre, 11});
      below += 13;
    }
    canvas.front.emplace_back(
        report::Label{nic.x, below, port.detail, bad ? Tone::kCritical : Tone::kQuiet, Align::kCentre, 10.5});
  }
  return any ? y + 42 : y;
}

}  // namespace angio::views
