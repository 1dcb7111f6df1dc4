#include "views/topology_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/text_layout.hpp"
#include "views/topology_canvas.hpp"
#include "views/topology_tree.hpp"
#include "views/topology_words.hpp"

namespace angio::views {
namespace {

using model::Machine;

constexpr double kNicLeast = 78;
constexpr double kNicMost = 110;
constexpr double kTitleAdvance = 7.2;  // of a bold letter of a title
constexpr std::size_t kFold = 3;       // as many NICs alike are one box
constexpr double kTitleHeight = 22;
constexpr double kLineHeight = 15;

// What two NICs must share to be drawn as one. Empty: it has something of its own to say.
std::string likeness(const Machine& machine, const Leaf& leaf) {
  if (leaf.kind != LeafKind::kNic || leaf.rdma.size() > 1) return {};
  const LinkView link = leaf.pci ? view_link(machine, *leaf.pci) : LinkView{};
  if (link.degraded()) return {};
  std::string text = link.text;
  if (!leaf.rdma.empty()) {
    const report::Span port = view_port(machine.rdma[leaf.rdma.front()]);
    if (port.tone == report::Tone::kCritical) return {};
    return "rdma " + text + port.text;
  }
  if (leaf.networks.empty()) return "pci " + text;
  const BitsPerSecond* speed = machine.networks[leaf.networks.front()].speed.get();
  return fmt::format("net {} {}", text, speed != nullptr ? speed->value : 0);
}

std::vector<Bundle> fold(const Machine& machine, const std::vector<const Leaf*>& leaves) {
  std::vector<Bundle> bundles;
  for (std::size_t i = 0; i < leaves.size();) {
    const std::string like = likeness(machine, *leaves[i]);
    std::size_t end = i + 1;
    while (!like.empty() && end < leaves.size() && likeness(machine, *leaves[end]) == like)
      ++end;
    if (end - i < kFold) end = i + 1;
    bundles.emplace_back(leaves.begin() + static_cast<std::ptrdiff_t>(i),
                         leaves.begin() + static_cast<std::ptrdiff_t>(end));
    i = end;
  }
  return bundles;
}

void collect(const std::vector<Bridge>& bridges, const std::vector<Leaf>& leaves, Group& group,
             Bundle& single) {
  for (const Bridge& bridge : bridges) {
    if (bridge.kind == BridgeKind::kHostBridge && bridge.size() == 1) {
      collect(bridge.bridges, bridge.leaves, group, single);
    } else {
      group.bridges.push_back(&bridge);
    }
  }
  for (const Leaf& leaf : leaves)
    (leaf.kind == LeafKind::kStorage ? group.drives : single).push_back(&leaf);
}

// Fills parts of bridges and leaves up to a width.
template <typename Part>
class Filler {
 public:
  Filler(Part pattern, double width) : pattern_(std::move(pattern)), most_(width) {}

  Part& place_for(double width) {
    if (parts_.empty() || (used_ > 0 && used_ + kGap + width > most_)) {
      parts_.push_back(pattern_);
      parts_.back().continued = pattern_.continued || parts_.size() > 1;
      used_ = 0;
    }
    used_ += width + (used_ > 0 ? kGap : 0);
    return parts_.back();
  }
  std::vector<Part> finish() { return std::move(parts_); }

 private:
  Part pattern_;
  double most_;
  double used_ = 0;
  std::vector<Part> parts_;
};

template <typename Part>
Part without_content(const Part& part) {
  Part empty = part;
  empty.bridges.clear();
  empty.leaves.clear();
  return empty;
}

}  // namespace

std::string nic_name(const Machine& machine, const Leaf& leaf) {
  std::vector<std::string> names;
  for (const std::uint32_t rdma : leaf.rdma)
    names.push_back(machine.rdma[rdma].name);
  for (const std::uint32_t network : leaf.networks) {
    if (leaf.rdma.empty()) names.push_back(machine.networks[network].name);
  }
  return names.empty() ? "NIC " + short_address(machine, leaf) : join(names, ", ");
}

std::string short_address(const Machine& machine, const Leaf& leaf) {
  if (!leaf.pci) return {};
  const std::string address = to_string(machine.pci.devices[*leaf.pci].address);
  return address.starts_with("0000:") ? address.substr(5) : address;
}

std::vector<std::string> gpu_lines(const Machine& machine, const Leaf& leaf) {
  const model::Gpu& gpu = machine.gpus[*leaf.gpu];
  std::vector<std::string> lines{board_name(gpu.name.value_or({})), short_address(machine, leaf),
                                 link_line(machine, leaf, kGpuWidth)};
  if (const NumaId* node = gpu.memory_numa.get())
    lines.push_back(fmt::format("memory: node {}", node->value));
  std::erase(lines, std::string());
  return lines;
}

std::string link_line(const Machine& machine, const Leaf& leaf, double width) {
  if (!leaf.pci) return {};
  const model::PciDevice& device = machine.pci.devices[*leaf.pci];
  const auto known = [](const model::PciLink* link) { return link != nullptr && link->lanes > 0; };
  const bool now = known(device.link.get());
  const model::PciLink* link = now ? device.link.get() : device.link_max.get();
  if (!known(link)) return {};
  const std::string lanes = fmt::format("{}x{}", now ? "" : "max ", link->lanes);
  if (link->speed.value <= 0) return lanes;
  std::string full = lanes + " " + angio::in_words(link->speed);
  return fit(full, width - 10, kSmallText) == full ? full : lanes;
}

Layout::Layout(const Machine& machine) : machine_(machine), nic_width_(kNicLeast) {
  std::size_t gpu_most = 1;
  bool nic_lines = false;
  const auto fit_name = [&](const std::string& name) {
    const double width = 14 + kTitleAdvance * static_cast<double>(report::display_width(name));
    nic_width_ = std::clamp(width, nic_width_, kNicMost);
  };
  const auto on_pci = [&](const auto& device) {
    return device.pci && *device.pci < machine.pci.devices.size();
  };
  for (const model::Gpu& gpu : machine.gpus) {
    Leaf leaf{LeafKind::kGpu, gpu.index, {}, {}, on_pci(gpu) ? gpu.pci : std::nullopt};
    if (gpu.index < machine.gpus.size()) gpu_most = std::max(gpu_most, gpu_lines(machine, leaf).size());
  }
  for (const model::RdmaDevice& device : machine.rdma) {
    fit_name(device.name);
    nic_lines = nic_lines || on_pci(device);
  }
  for (const model::NetDevice& device : machine.networks) {
    if (on_pci(device)) fit_name(device.name);
  }
  nic_lines = nic_lines || !machine.pci.devices.empty();
  gpu_height_ = kTitleHeight + kLineHeight * static_cast<double>(gpu_most) + 7;
  nic_height_ = nic_lines ? 52 : 30;
}

Group Layout::group_of(const std::vector<Bridge>& bridges, const std::vector<Leaf>& leaves) const {
  Group group;
  Bundle single;
  collect(bridges, leaves, group, single);
  group.bundles = fold(machine_, single);
  return group;
}

Size Layout::size_of(const Bundle& bundle) const {
  if (bundle.front()->kind == LeafKind::kGpu) return {kGpuWidth, gpu_height_};
  return {bundle.size() > 1 ? kNicMost : nic_width_, bundle.size() > 1 ? 52 : nic_height_};
}

Size Layout::size_of(const Group& group) const {
  Size size;
  const auto extend = [&](Size part) {
    size.width += part.width + (size.width > 0 ? kGap : 0);
    size.height = std::max(size.height, part.height);
  };
  for (const Bridge* bridge : group.bridges)
    extend(size_of(*bridge));
  for (const Bundle& bundle : group.bundles)
    extend(size_of(bundle));
  if (!group.drives.empty()) extend({kDriveWidth, kDriveHeight});
  return size;
}

Size Layout::size_of(const Bridge& bridge) const {
  const Size below = size_of(group_of(bridge.bridges, bridge.leaves));
  return {std::max(below.width, 2 * kNicLeast), kBar + kWire + below.height};
}

double Layout::head_of(const NodeGroup& node) const {
  const std::size_t lines = node.continued ? 0 : node_lines(machine_, node).size();
  return 28 + kLineHeight * static_cast<double>(lines);
}

Size Layout::size_of(const NodeGroup& node) const {
  const Size below = size_of(group_of(node.bridges, node.leaves));
  const double height = head_of(node) + (below.height > 0 ? kWire + below.height + kGap : 0);
  return {std::max(below.width + 2 * kGap, kNodeWidth), height};
}

bool Layout::is_drawn(const NodeGroup& node) const {
  if (!node.bridges.empty() || !node.leaves.empty() || !node.index) return true;
  const model::NumaKind kind = machine_.numa.nodes[*node.index].kind;
  return kind != model::NumaKind::kEmpty && kind != model::NumaKind::kGpuMemory;
}

std::vector<std::vector<const NodeGroup*>> Layout::rows_of(const PackageGroup& package) const {
  std::vector<std::vector<const NodeGroup*>> rows(1);
  double width = 0;
  for (const NodeGroup& node : package.nodes) {
    if (!is_drawn(node)) continue;
    const bool bare = node.bridges.empty() && node.leaves.empty();
    const double own = size_of(node).width + kGap;
    if (bare && width > 0 && width + own > kRowWidth) {
      rows.emplace_back();
      width = 0;
    }
    width += own;
    rows.back().push_back(&node);
  }
  return rows;
}

double Layout::width_of(const std::vector<const NodeGroup*>& row) const {
  double width = kGap;
  for (const NodeGroup* node : row)
    width += size_of(*node).width + kGap;
  return width;
}

double Layout::width_of(const PackageGroup& package) const {
  double width = kPackageWidth;
  for (const auto& row : rows_of(package))
    width = std::max(width, width_of(row));
  return width;
}

std::vector<Bridge> Layout::break_bridge(const Bridge& bridge, double width) const {
  const double whole = size_of(bridge).width;
  if (whole <= width) return {bridge};
  // Parts of about equal width look better than a full one and a rest.
  const double even = whole / std::ceil(whole / width) + kGpuWidth;
  Filler<Bridge> filler(without_content(bridge), std::min(width, even));
  for (const Bridge& below : bridge.bridges) {
    for (Bridge& part : break_bridge(below, width)) {
      const double own = size_of(part).width;
      filler.place_for(own).bridges.push_back(std::move(part));
    }
  }
  const Group group = group_of({}, bridge.leaves);
  for (const Bundle& bundle : group.bundles) {
    Bridge& place = filler.place_for(size_of(bundle).width);
    for (const Leaf* leaf : bundle)
      place.leaves.push_back(*leaf);
  }
  if (!group.drives.empty()) {
    Bridge& place = filler.place_for(kDriveWidth);
    for (const Leaf* leaf : group.drives)
      place.leaves.push_back(*leaf);
  }
  return filler.finish();
}

std::vector<NodeGroup> Layout::break_node(const NodeGroup& node) const {
  if (size_of(node).width + 2 * kGap <= kRowWidth) return {node};
  // A node is broken as a bridge would be.
  Bridge all;
  all.bridges = node.bridges;
  all.leaves = node.leaves;
  std::vector<NodeGroup> nodes;
  for (Bridge& part : break_bridge(all, kRowWidth - 4 * kGap)) {
    nodes.push_back(without_content(node));
    nodes.back().bridges = std::move(part.bridges);
    nodes.back().leaves = std::move(part.leaves);
    nodes.back().continued = nodes.size() > 1;
  }
  return nodes;
}

std::vector<PackageGroup> Layout::broken(const Outline& outline) const {
  std::vector<PackageGroup> packages;
  for (const PackageGroup& package : outline.packages) {
    packages.push_back({package.packages, {}});
    double width = kGap;
    for (const NodeGroup& whole : package.nodes) {
      if (!is_drawn(whole)) continue;
      const bool bare = whole.bridges.empty() && whole.leaves.empty();
      for (NodeGroup& node : break_node(whole)) {
        const double own = size_of(node).width + kGap;
        if (!bare && width > kGap && width + own > kRowWidth) {
          packages.push_back({package.packages, {}, true});
          width = kGap;
        }
        width = bare && width + own > kRowWidth ? kGap + own : width + own;
        packages.back().nodes.push_back(std::move(node));
      }
    }
  }
  return packages;
}

}  // namespace angio::views
