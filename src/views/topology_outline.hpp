// The machine as people draw it: packages, NUMA nodes, PCIe switches and what hangs off them, with the
// bridges that say nothing left out. Made once, then printed as a tree or drawn as a picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/machine.hpp"

namespace angio::views {

enum class LeafKind : std::uint8_t { kGpu, kNic, kStorage };

// One device. A NIC may be an RDMA device, a network interface or both; or a PCI function that nothing else
// is known of.
struct Leaf {
  LeafKind kind = LeafKind::kGpu;
  std::optional<std::uint32_t> gpu;
  std::vector<std::uint32_t> rdma;
  std::vector<std::uint32_t> networks;
  std::optional<std::uint32_t> pci;
};

enum class BridgeKind : std::uint8_t { kHostBridge, kSwitch, kStated };

struct Bridge {
  BridgeKind kind = BridgeKind::kHostBridge;
  std::string name;                  // "pci0000:15"; a switch: the address of its upstream port
  std::optional<std::uint32_t> pci;  // a switch: its upstream port
  std::vector<Bridge> bridges;
  std::vector<Leaf> leaves;
  bool continued = false;  // the rest of a bridge too wide to be drawn at once
  [[nodiscard]] std::size_t size() const { return bridges.size() + leaves.size(); }
};

struct NodeGroup {
  std::optional<NumaId> id;            // none: the source does not say
  std::optional<std::uint32_t> index;  // in numa.nodes
  std::vector<Bridge> bridges;         // host bridges; leaves without a known bridge stand below
  std::vector<Leaf> leaves;
  bool continued = false;
};

struct PackageGroup {
  std::vector<std::uint32_t> packages;  // indices in cpus.packages; none: the source does not say
  std::vector<NodeGroup> nodes;
  bool continued = false;
};

struct Outline {
  std::vector<PackageGroup> packages;
};

Outline make_outline(const model::Machine& machine);

}  // namespace angio::views
