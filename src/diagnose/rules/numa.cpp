// The NUMA rules and the questions they share; the checks are in numa_*.cpp.
#include "diagnose/rules/numa.hpp"

#include <algorithm>
#include <array>

#include "diagnose/rules/support.hpp"

namespace angio::diagnose {
namespace numa {

using model::Machine;
using model::NumaNode;

std::string node_label(const NumaNode& node) {
  return "node " + std::to_string(node.id.value);
}

std::vector<const NumaNode*> cpu_nodes(const Machine& machine) {
  std::vector<const NumaNode*> found;
  for (const NumaNode& node : machine.numa.nodes) {
    if (!node.cpus.empty()) found.push_back(&node);
  }
  return found;
}

bool moves_data(const Machine& machine) {
  return !machine.gpus.empty() || !machine.rdma.empty();
}

std::vector<std::string> gpus_on(const Machine& machine, const NumaNode& node) {
  std::vector<std::string> found;
  for (const model::Gpu& gpu : machine.gpus) {
    if (gpu.numa.is(node.id)) found.push_back(gpu_label(gpu));
  }
  return found;
}

model::Severity warning_on_bare_metal(const Machine& machine) {
  return is_bare_metal(machine) ? model::Severity::kWarning : model::Severity::kInfo;
}

namespace {

constexpr std::array kRules = {
    Rule{"numa.allowed.excludes-gpu", allowed_cpus},
    Rule{"numa.cells.cut-cores", cells_cut_cores},
    Rule{"numa.cpus.offline", cpus_offline},
    Rule{"numa.device.node-unknown", device_without_node},
    Rule{"numa.distances.asymmetric", distances_asymmetric},
    Rule{"numa.distances.uninformative", distances_uninformative},
    Rule{"numa.gpu.order", gpu_order},
    Rule{"numa.gpu-memory.host-pages", host_pages_on_gpu},
    Rule{"numa.hugepages.one-sided", huge_pages_one_sided},
    Rule{"numa.maps.overlap", maps_overlap},
    Rule{"numa.memory.exhausted", memory_exhausted},
    Rule{"numa.memory.uneven", memory_uneven},
    Rule{"numa.node.fine-grained", fine_grained},
    Rule{"numa.node.no-memory", node_without_memory},
    Rule{"numa.packages.one-node", packages_in_one_node},
};

}  // namespace
}  // namespace numa

std::span<const Rule> numa_rules() {
  return numa::kRules;
}

}  // namespace angio::diagnose
