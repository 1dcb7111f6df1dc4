// The machine as a tree of text: packages, NUMA nodes, PCIe switches, GPUs, NICs and drives with their
// links. Says in words what is degraded or not known.
#pragma once

#include <string>
#include <vector>

#include "model/machine.hpp"
#include "report/document.hpp"
#include "views/topology_outline.hpp"

namespace angio::views {

report::Tree topology_tree(const model::Machine& machine, const Outline& outline);

// "2 packages, 112 cores, 224 CPUs; 2 NUMA nodes, 2 TiB; 8 GPUs; 10 RDMA devices".
std::string topology_counts(const model::Machine& machine, const Outline& outline);
// "2 x L3 105 MiB, 112 x L2 2 MiB, …"; empty when caches are not known.
std::string cache_summary(const model::Machine& machine);
// "503.5 GiB, 120 GiB free, CPUs 0-55"; says "memory not known".
std::string node_words(const model::Machine& machine, const NodeGroup& group);
// The same for a box: memory, CPUs; without what is not told.
std::vector<std::string> node_lines(const model::Machine& machine, const NodeGroup& group);
// Of a NIC that only PCI knows: "InfiniBand", "Ethernet", "network".
std::string pci_network_kind(const model::Machine& machine, const Leaf& leaf);
std::string package_words(const model::Machine& machine, const PackageGroup& group);
std::string node_title(const NodeGroup& group);

}  // namespace angio::views
