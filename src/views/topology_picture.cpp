#include "views/topology_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/topology_canvas.hpp"
#include "views/topology_layout.hpp"
#include "views/topology_tree.hpp"
#include "views/topology_words.hpp"

namespace angio::views {
namespace {

using model::Machine;
using report::Align;
using report::Box;
using report::Connector;
using report::Label;
using report::Tone;

class Painter {
 public:
  Painter(const Machine& machine, const Outline& outline, PictureHeading heading)
      : machine_(machine),
        layout_(machine),
        packages_(layout_.broken(outline)),
        counts_(topology_counts(machine, outline)),
        heading_(heading),
        weave_(weave_of(machine)) {}

  report::Drawing paint() {
    double y = kMargin + heading_height();
    for (std::size_t first = 0; first < packages_.size();) {
      std::size_t end = first;
      double width = 0;
      while (end < packages_.size() &&
             (end == first || width + layout_.width_of(packages_[end]) <= kRowWidth)) {
        width += layout_.width_of(packages_[end++]) + 3 * kGap;
      }
      y = paint_row(std::span(packages_).subspan(first, end - first), y) + 2 * kGap + 4;
      first = end;
    }
    join_rows();
    join_bars();
    return finish(y);
  }

 private:
  struct Row {
    Box first;       // package
    double bar = 0;  // middle of the NVLink bar; 0: none
    double right = 0;
    bool continued = false;
    bool known = false;  // which package it is
  };

  double paint_row(std::span<const PackageGroup> packages, double y) {
    canvas_.gpus.clear();
    canvas_.nics.clear();
    double x = kMargin;
    double bottom = y;
    std::vector<Box> boxes;
    for (const PackageGroup& package : packages) {
      const Box box = paint_package(package, x, y);
      boxes.push_back(box);
      bottom = std::max(bottom, box.y + box.height);
      x = box.x + box.width + 3 * kGap;
    }
    for (Box& box : boxes)
      box.height = bottom - y;
    // Boxes lie behind what is in them, and neighbours are equally high.
    canvas_.back.insert(canvas_.back.begin(), boxes.begin(), boxes.end());
    for (std::size_t i = 0; i + 1 < boxes.size(); ++i) {
      if (packages.size() == 2 && !packages[i + 1].packages.empty())
        paint_interconnect(boxes[i], boxes[i + 1]);
    }
    canvas_.left = kMargin;
    canvas_.right = x - 3 * kGap;
    width_ = std::max(width_, canvas_.right + kMargin);
    Row row{boxes.front(), 0, canvas_.right, packages.front().continued, !packages.front().packages.empty()};
    const double ports = draw_nic_ports(canvas_, bottom);
    const double below = draw_gpu_links(machine_, weave_, canvas_, ports);
    if (below > ports && weave_ != Weave::kSomePairs) row.bar = below - kBarHeight / 2;
    rows_.push_back(std::move(row));
    return below;
  }

  void paint_interconnect(const Box& left, const Box& right) {
    const double y = left.y + 13;
    connect({{left.x + left.width, y}, {right.x, y}}, "between sockets", "interconnect");
  }

  void connect(std::vector<std::pair<double, double>> points, const char* tooltip, const char* kind) {
    canvas_.lines.emplace_back(Connector{std::move(points), 4, Tone::kPlain, false, tooltip, kind});
  }

  // Two packages below each other are joined at the left edge, outside of everything else.
  void join_rows() {
    const bool two = machine_.cpus.packages.size() == 2;
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      if (!two || !rows_[i].known || !rows_[0].known || rows_[i].continued) continue;
      const Box& upper = rows_[0].first;
      const Box& lower = rows_[i].first;
      const double x = kMargin / 2;
      connect({{upper.x, upper.y + 13}, {x, upper.y + 13}, {x, lower.y + 13}, {lower.x, lower.y + 13}},
              "between sockets", "interconnect");
      canvas_.front.emplace_back(
          Label{kMargin, lower.y - 6, "between sockets", Tone::kQuiet, Align::kLeft, 11});
    }
  }

  // GPUs of several rows hang on one fabric: its bars are joined at the right edge.
  void join_bars() {
    std::vector<const Row*> bars;
    for (const Row& row : rows_) {
      if (row.bar > 0) bars.push_back(&row);
    }
    if (bars.size() < 2) return;
    const double x = width_ - 2;
    width_ = x + kMargin / 2;
    for (const Row* row : bars)
      connect({{row->right, row->bar}, {x, row->bar}}, "one fabric", "nvlink");
    connect({{x, bars.front()->bar}, {x, bars.back()->bar}}, "one fabric", "nvlink");
  }

  Box paint_package(const PackageGroup& package, double x, double y) {
    Box box{x,        y, layout_.width_of(package), 0, package_words(machine_, package), {}, Tone::kPlain,
            "package"};
    if (package.packages.empty()) box.tone = Tone::kUnknown;
    if (package.continued) box.title = box.title.substr(0, box.title.find(',')) + ", continued";
    box.tooltip = box.title;
    double top = y + 26;
    for (const std::vector<const NodeGroup*>& row : layout_.rows_of(package)) {
      double at = x + kGap;
      double height = 0;
      for (const NodeGroup* node : row)
        height = std::max(height, layout_.size_of(*node).height);
      for (const NodeGroup* node : row) {
        // The last one fills what is left of the package.
        const double width =
            node == row.back() ? box.x + box.width - kGap - at : layout_.size_of(*node).width;
        paint_node(*node, {width, height}, at, top);
        at += width + kGap;
      }
      top += row.empty() ? 0 : height + kGap;
    }
    box.height = top - y;
    return box;
  }

  void paint_node(const NodeGroup& node, Size size, double x, double y) {
    const Tone tone = node.id ? Tone::kPlain : Tone::kUnknown;
    canvas_.unknowns = canvas_.unknowns || !node.id;
    std::string title = node_title(node);
    const std::string words = node_words(machine_, node);
    canvas_.back.emplace_back(Box{x, y, size.width, size.height,
                                  title + (node.continued ? ", continued" : ""),
                                  words.empty() ? title : title + ", " + words, tone, "numa"});
    double line = y + 18;
    for (const std::string& text : node.continued ? std::vector<std::string>{} : node_lines(machine_, node)) {
      line += 15;
      canvas_.back.emplace_back(
          Label{x + 7, line, fit(text, size.width - 12, 11), Tone::kQuiet, Align::kLeft, 11});
    }
    const Group group = layout_.group_of(node.bridges, node.leaves);
    if (group.empty()) return;
    const double bar = y + layout_.head_of(node);
    canvas_.lines.emplace_back(
        Connector{{{x, bar}, {x + size.width, bar}}, 1.5, Tone::kPlain, false, {}, "pcie"});
    paint_group(group, x + (size.width - layout_.size_of(group).width) / 2, bar);
  }

  // y: the lower edge of what the group hangs off.
  void paint_group(const Group& group, double x, double y) {
    for (const Bridge* bridge : group.bridges) {
      paint_bridge(*bridge, x, y);
      x += layout_.size_of(*bridge).width + kGap;
    }
    for (const Bundle& bundle : group.bundles) {
      if (bundle.front()->kind == LeafKind::kGpu) {
        paint_gpu(*bundle.front(), x, y);
      } else {
        paint_nics(bundle, x, y);
      }
      x += layout_.size_of(bundle).width + kGap;
    }
    if (!group.drives.empty()) paint_drives(group.drives, x, y);
  }

  void paint_wire(double x, double y, const LinkView& link, const std::string& who) {
    const bool bad = link.degraded();
    canvas_.lines.emplace_back(Connector{{{x, y}, {x, y + kWire}},
                                         bad ? 3.0 : 1.5,
                                         bad ? Tone::kCritical : Tone::kPlain,
                                         bad,
                                         who + ": PCIe " + (link.text.empty() ? "link not known" : link.text),
                                         "pcie"});
    if (!bad) return;
    canvas_.front.emplace_back(Label{x + 6, y + kWire - 8, link.brief, Tone::kCritical, Align::kLeft, 11});
    canvas_.troubles.push_back(fmt::format("{}: PCIe {}", who, link.brief));
  }

  void paint_bridge(const Bridge& bridge, double x, double y) {
    const Size size = layout_.size_of(bridge);
    std::string title = bridge.name;
    if (bridge.kind == BridgeKind::kSwitch) {
      title = "switch " + (bridge.name.starts_with("0000:") ? bridge.name.substr(5) : bridge.name);
    }
    if (bridge.kind == BridgeKind::kHostBridge) title = "host bridge " + bridge.name;
    LinkView link;
    if (bridge.pci) link = view_link(machine_, *bridge.pci);
    paint_wire(x + size.width / 2, y, link, title);
    if (bridge.continued) title += ", continued";
    canvas_.front.emplace_back(Box{x, y + kWire, size.width, kBar, title,
                                   link.text.empty() ? title : title + ", uplink " + link.text, Tone::kPlain,
                                   "switch"});
    const Group group = layout_.group_of(bridge.bridges, bridge.leaves);
    paint_group(group, x + (size.width - layout_.size_of(group).width) / 2, y + kWire + kBar);
  }

  void line_of(double x, double y, double width, const std::string& text, Tone tone = Tone::kQuiet) {
    canvas_.front.emplace_back(
        Label{x + 7, y, fit(text, width - 10, kSmallText), tone, Align::kLeft, kSmallText});
  }

  void paint_gpu(const Leaf& leaf, double x, double y) {
    const model::Gpu& gpu = machine_.gpus[*leaf.gpu];
    const Size size = layout_.size_of(Bundle{&leaf});
    const std::string title = fmt::format("GPU {}", *leaf.gpu);
    const LinkView link = leaf.pci ? view_link(machine_, *leaf.pci) : LinkView{};
    paint_wire(x + size.width / 2, y, link, title);
    const double top = y + kWire;
    canvas_.front.emplace_back(Box{
        x, top, size.width, size.height, title,
        fmt::format("{} {} {} {}", title, gpu.name.value_or({}), short_address(machine_, leaf), link.text),
        Tone::kPlain, "gpu"});
    const std::string lanes = link_line(machine_, leaf, size.width);
    const std::string name = board_name(gpu.name.value_or({}));
    double line = top + 17;
    for (const std::string& text : gpu_lines(machine_, leaf)) {
      const bool bad = link.degraded() && text == lanes;
      line += 15;
      line_of(x, line, size.width, text, bad ? link.tone : text == name ? Tone::kPlain : Tone::kQuiet);
    }
    canvas_.gpus.push_back({*leaf.gpu, x + size.width / 2, top + size.height});
  }

  // One NIC, or several that differ in nothing but their name.
  void paint_nics(const Bundle& bundle, double x, double y) {
    const Leaf& leaf = *bundle.front();
    const Size size = layout_.size_of(bundle);
    const std::string name = nic_name(machine_, leaf);
    const std::string title = bundle.size() > 1 ? fmt::format("{} NICs", bundle.size()) : name;
    const LinkView link = leaf.pci ? view_link(machine_, *leaf.pci) : LinkView{};
    paint_wire(x + size.width / 2, y, link, title);
    const double top = y + kWire;
    NicPort port = port_of(leaf, name);
    std::vector<std::string> lines{short_address(machine_, leaf), link_line(machine_, leaf, size.width)};
    if (bundle.size() > 1) {
      const std::string last = nic_name(machine_, *bundle.back());
      lines = {name + " to", last};
      port.tooltip = fmt::format("{}: {} to {}, each {}", title, name, last, link.text);
      if (!port.text.empty()) port.text = fmt::format("{} × {}", bundle.size(), port.text);
    } else if (leaf.rdma.empty() && leaf.networks.empty()) {
      lines.front() = pci_network_kind(machine_, leaf);
    }
    std::erase(lines, std::string());
    canvas_.front.emplace_back(
        Box{x, top, size.width, size.height, title, port.tooltip, Tone::kPlain, "nic"});
    double line = top + 16;
    for (const std::string& text : lines) {
      line += 14.5;
      line_of(x, line, size.width, text, link.degraded() && text != lines.front() ? link.tone : Tone::kQuiet);
    }
    canvas_.nics.push_back(
        {static_cast<std::uint32_t>(canvas_.nic_ports.size()), x + size.width / 2, top + size.height});
    canvas_.nic_ports.push_back(port);
  }

  NicPort port_of(const Leaf& leaf, const std::string& title) {
    NicPort port;
    port.tooltip = title;
    if (leaf.rdma.empty() && leaf.networks.empty()) return port;
    if (leaf.rdma.empty()) {
      const model::NetDevice& network = machine_.networks[leaf.networks.front()];
      if (const BitsPerSecond* speed = network.speed.get()) port.text = angio::in_words(*speed);
      return port;
    }
    const model::RdmaDevice& rdma = machine_.rdma[leaf.rdma.front()];
    const report::Span words = view_port(rdma);
    port.tooltip += ", " + words.text;
    port.tone = words.tone;
    if (rdma.ports.empty()) return port;
    const model::RdmaPort& first = rdma.ports.front();
    if (const BitsPerSecond* rate = first.rate.get()) port.text = angio::in_words(*rate);
    port.detail = first.speed_name.value_or({});
    if (first.link_layer == model::LinkLayer::kEthernet) port.detail = "Ethernet";
    if (first.link_layer == model::LinkLayer::kInfiniBand) port.detail = "IB " + port.detail;
    if (words.tone == Tone::kCritical) {
      port.detail = first.state.value_or("not active");
      canvas_.troubles.push_back(fmt::format("{}: port {}", title, port.detail));
    }
    return port;
  }

  void paint_drives(const std::vector<const Leaf*>& drives, double x, double y) {
    LinkView worst;
    for (const Leaf* drive : drives) {
      const LinkView link = view_link(machine_, *drive->pci);
      if (link.degraded()) worst = link;
    }
    const std::string title = drives.size() == 1 ? "NVMe" : fmt::format("{} NVMe", drives.size());
    const std::string tooltip = title + " " + short_address(machine_, *drives.front());
    paint_wire(x + kDriveWidth / 2, y, worst, tooltip);
    canvas_.front.emplace_back(
        Box{x, y + kWire, kDriveWidth, kDriveHeight, {}, tooltip, Tone::kPlain, "storage"});
    const double middle = x + kDriveWidth / 2;
    canvas_.front.emplace_back(
        Label{middle, y + kWire + 16, "NVMe", Tone::kPlain, Align::kCentre, kSmallText});
    if (drives.size() < 2) return;
    canvas_.front.emplace_back(Label{middle, y + kWire + 30, fmt::format("x {}", drives.size()), Tone::kQuiet,
                                     Align::kCentre, kSmallText});
  }

  double heading_height() const { return heading_ == PictureHeading::kNone ? 24 : 62; }

  void paint_heading() {
    const double room = width_ - 2 * kMargin;
    double y = kMargin + 14;
    if (heading_ == PictureHeading::kNameAndCounts) {
      std::string title = machine_.name.empty() ? std::string("machine") : machine_.name;
      if (const std::string* product = machine_.software.product.get()) title += ", " + *product;
      canvas_.front.emplace_back(Label{kMargin, y, fit(title, room, 20), Tone::kStrong, Align::kLeft, 20});
      canvas_.front.emplace_back(
          Label{kMargin, y + 20, fit(counts_, room, 13), Tone::kQuiet, Align::kLeft, 13});
      y += 39;
    }
    if (canvas_.troubles.empty()) return;
    const std::string troubles = join(canvas_.troubles, "; ");
    canvas_.front.emplace_back(Label{kMargin, y, fit(troubles, room, 13), Tone::kCritical, Align::kLeft, 13});
  }

  report::Drawing finish(double y) {
    width_ = std::max(width_, 560.0);
    paint_heading();
    std::string key;
    if (!canvas_.troubles.empty()) key = "red and dashed: less than both ends can, or down";
    if (canvas_.unknowns) key += key.empty() ? "grey: not known" : "; grey: not known";
    if (!key.empty()) {
      canvas_.front.emplace_back(Label{kMargin, y + 10, key, Tone::kQuiet, Align::kLeft, 11});
      y += 18;
    }
    report::Drawing drawing;
    drawing.width = width_;
    drawing.height = y + kMargin / 2;
    drawing.title = "Topology of " + (machine_.name.empty() ? std::string("the machine") : machine_.name);
    drawing.description = counts_;
    if (!canvas_.troubles.empty()) drawing.description += ". Degraded: " + join(canvas_.troubles, "; ");
    for (auto* layer : {&canvas_.back, &canvas_.lines, &canvas_.front}) {
      std::ranges::move(*layer, std::back_inserter(drawing.shapes));
    }
    return drawing;
  }

  const Machine& machine_;
  Layout layout_;
  std::vector<PackageGroup> packages_;
  std::string counts_;
  PictureHeading heading_;
  Weave weave_;
  Canvas canvas_;
  std::vector<Row> rows_;
  double width_ = 0;
};

}  // namespace

report::Drawing topology_picture(const Machine& machine, const Outline& outline, PictureHeading heading) {
  return Painter(machine, outline, heading).paint();
}

}  // namespace angio::views
