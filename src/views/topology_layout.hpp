// How much room the parts of the topology picture take, which devices are drawn as one, and where a part
// that is too wide is broken. Knows nothing of shapes. Internal to topology_picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "views/topology_outline.hpp"

namespace angio::views {

struct Size {
  double width = 0;
  double height = 0;
};

// CSS pixels. Two packages with four GPUs and four NICs each fit a slide of 1600 pixels.
inline constexpr double kMargin = 20;
inline constexpr double kGap = 10;
inline constexpr double kRowWidth = 1560;     // what does not fit goes into the next row
inline constexpr double kPackageWidth = 240;  // at least
inline constexpr double kGpuWidth = 104;
inline constexpr double kDriveWidth = 46;
inline constexpr double kDriveHeight = 38;
inline constexpr double kBar = 24;         // a switch
inline constexpr double kWire = 28;        // from a bar to what hangs off it
inline constexpr double kNodeWidth = 150;  // of a node with nothing below it

// Devices drawn as one box: one device, or NICs that differ in nothing but their name.
using Bundle = std::vector<const Leaf*>;

// What is placed below one bar.
struct Group {
  std::vector<const Bridge*> bridges;
  std::vector<Bundle> bundles;  // GPUs and NICs
  Bundle drives;                // always one box
  [[nodiscard]] bool empty() const { return bridges.empty() && bundles.empty() && drives.empty(); }
};

class Layout {
 public:
  explicit Layout(const model::Machine& machine);

  [[nodiscard]] Group group_of(const std::vector<Bridge>& bridges, const std::vector<Leaf>& leaves) const;
  [[nodiscard]] Size size_of(const Bundle& bundle) const;
  [[nodiscard]] Size size_of(const Bridge& bridge) const;
  [[nodiscard]] Size size_of(const Group& group) const;
  [[nodiscard]] Size size_of(const NodeGroup& node) const;
  // Head of a node: title, memory, CPUs.
  [[nodiscard]] double head_of(const NodeGroup& node) const;
  [[nodiscard]] bool is_drawn(const NodeGroup& node) const;
  // The nodes of a package side by side; nodes with nothing below them may stand in several rows, there are
  // machines with dozens.
  [[nodiscard]] std::vector<std::vector<const NodeGroup*>> rows_of(const PackageGroup& package) const;
  [[nodiscard]] double width_of(const std::vector<const NodeGroup*>& row) const;
  [[nodiscard]] double width_of(const PackageGroup& package) const;
  // The same machine with what is too wide for a row broken into parts, which are marked as continued.
  [[nodiscard]] std::vector<PackageGroup> broken(const Outline& outline) const;
  [[nodiscard]] double nic_width() const { return nic_width_; }

 private:
  [[nodiscard]] std::vector<NodeGroup> break_node(const NodeGroup& node) const;
  [[nodiscard]] std::vector<Bridge> break_bridge(const Bridge& bridge, double width) const;

  const model::Machine& machine_;
  double nic_width_ = 0;
  double gpu_height_ = 0;
  double nic_height_ = 0;
};

// Names of the NIC, RDMA first; a PCI function without any: "NIC 0101:00:00.0".
std::string nic_name(const model::Machine& machine, const Leaf& leaf);
// "18:00.0", "0101:00:00.0"; empty: not known.
std::string short_address(const model::Machine& machine, const Leaf& leaf);
// Text inside the box, below its title.
std::vector<std::string> gpu_lines(const model::Machine& machine, const Leaf& leaf);
// The PCIe link, lanes first, as much as fits into the width: "x16 32 GT/s", "max x16 32 GT/s", "max x16".
std::string link_line(const model::Machine& machine, const Leaf& leaf, double width);

}  // namespace angio::views
