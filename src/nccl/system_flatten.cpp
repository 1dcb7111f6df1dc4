// Broadcom switches show themselves as two levels, which they are not: NCCL dissolves the lower one
// (ncclTopoFlattenBcmSwitches of src/graph/topo.cc).
#include <algorithm>
#include <set>

#include "nccl/system_paths.hpp"

namespace angio::nccl {
namespace {

int broadcom_generation(std::uint64_t device, std::uint64_t level) {
  const std::uint64_t id = device & 0xfffffffffffff000U;  // getBcmGen of src/graph/topo.cc
  if (id == 0x1000c0101000a000U) return 4;
  return id == (0x1000c03010000000U | level * 0x1000U) ? 5 : 0;
}

void dissolve_below(System& system, std::uint32_t top, int generation, std::set<std::uint32_t>& gone) {
  std::vector<std::uint32_t> subs;
  std::erase_if(system.nodes[top].links, [&](std::uint32_t link) {
    const SystemNode& node = system.nodes[system.links[link].to];
    if (node.kind != NodeKind::kPci || broadcom_generation(node.pci_device, 1) != generation) return false;
    subs.push_back(system.links[link].to);
    return true;
  });
  for (const std::uint32_t sub : subs) {
    gone.insert(sub);
    for (const std::uint32_t link : system.nodes[sub].links) {
      if (system.links[link].to == top) continue;
      system.links[link].from = top;
      system.nodes[top].links.push_back(link);
      for (const std::uint32_t back : system.nodes[system.links[link].to].links)
        if (system.links[back].to == sub) system.links[back].to = top;
    }
    system.nodes[sub].links.clear();
  }
  if (!subs.empty()) system.nodes[top].pci_device |= 0xffffU;
}

}  // namespace

void flatten_broadcom(System& system) {
  const std::vector<std::uint32_t> switches = system.all(NodeKind::kPci);
  std::set<std::uint32_t> gone;
  for (const std::uint32_t top : switches) {
    const int generation = broadcom_generation(system.nodes[top].pci_device, 0);
    if (generation == 0 || gone.contains(top)) continue;
    dissolve_below(system, top, generation, gone);
  }
  std::erase_if(system.of_kind[static_cast<std::size_t>(NodeKind::kPci)],
                [&](std::uint32_t index) { return gone.contains(index); });
  for (std::size_t index = 0; index < system.all(NodeKind::kPci).size(); ++index)
    system.nodes[system.all(NodeKind::kPci)[index]].index = static_cast<std::uint32_t>(index);
}

}  // namespace angio::nccl
