// How far two devices of a machine are from each other, in the classes of `nvidia-smi topo -m`.
// Computed from the PCI tree, NUMA nodes and GPU links; or stated by a matrix that was imported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "model/observed.hpp"

namespace angio::model {

struct Machine;

// Near to far. The legend's words are in path_class_meaning().
enum class PathClass : std::uint8_t { kSelf, kNvLink, kC2c, kPix, kPxb, kPhb, kNode, kSys, kUnknown };

struct Path {
  PathClass kind = PathClass::kUnknown;
  std::uint32_t links = 0;  // kNvLink: number of bonded links (NV18), never a generation
  std::string why;          // kUnknown: what is missing
  bool operator==(const Path& other) const { return kind == other.kind && links == other.links; }
};

enum class DeviceKind : std::uint8_t { kGpu, kRdma, kNetwork };

struct DeviceRef {
  DeviceKind kind = DeviceKind::kGpu;
  std::uint32_t index = 0;  // in machine.gpus, machine.rdma or machine.networks
  bool operator==(const DeviceRef&) const = default;
};

// A matrix as somebody's tool printed it.
struct StatedPaths {
  std::vector<DeviceRef> devices;
  std::vector<Path> cells;  // row by row, devices.size() squared
  Source source;
};

std::string label(const Path& path);                  // "NV18", "PIX", "SYS", "X", "?"
std::string_view path_class_meaning(PathClass kind);  // the legend line
Path path_between(const Machine& machine, DeviceRef a, DeviceRef b);
// How a GPU reaches its CPU: kC2c, kNvLink (Power9), kPhb for PCIe.
Path path_to_cpu(const Machine& machine, std::uint32_t gpu);
// The device's node: its own statement, a stated matrix, a bridge above it, or the only node with CPUs.
std::optional<NumaId> nearest_node(const Machine& machine, DeviceRef device);
// True when the machine has enough (PCI tree or stated matrix) to answer for any pair.
bool has_paths(const Machine& machine);

}  // namespace angio::model
