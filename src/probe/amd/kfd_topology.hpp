// The kernel's list of compute nodes, /sys/class/kfd/kfd/topology/nodes: CPUs and GPUs with the links
// between them. linux/drivers/gpu/drm/amd/amdkfd/kfd_topology.c writes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe {

struct KfdLink {
  std::uint32_t to = 0;  // number of the other node
  bool xgmi = false;
};

struct KfdNode {
  std::optional<PciAddress> address;  // none: a CPU
  std::vector<KfdLink> links;         // in the kernel's order
  std::uint32_t place = 0;            // in machine.places, of io_links
};

// By node number. Nodes that cannot be read are left out.
std::map<std::uint32_t, KfdNode> read_kfd_topology(const host::Root& root, model::Machine& machine);

// "name value" lines with decimal values, as every properties file has.
std::map<std::string_view, std::uint64_t> parse_kfd_properties(std::string_view text);

}  // namespace angio::probe
