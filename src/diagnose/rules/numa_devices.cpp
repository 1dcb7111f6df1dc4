// GPUs and RDMA cards against NUMA nodes: no node given, numbers out of order, nodes not allowed here.
#include <algorithm>

#include "base/format.hpp"
#include "diagnose/rules/numa.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::numa {

using model::Machine;
using model::NumaNode;
using model::PciDevice;

namespace {

// The kernel's own statement where the source has it; what NVML says of a GPU does not help NCCL.
const model::Observed<NumaId>& stated_node(const Machine& machine, const std::optional<std::uint32_t>& pci,
                                           const model::Observed<NumaId>& own) {
  return pci && *pci < machine.pci.devices.size() ? machine.pci.devices[*pci].numa : own;
}

struct Homeless {
  std::vector<std::string> labels;
  std::vector<model::Evidence> evidence;
};

void look(const Machine& machine, const std::string& label, const model::Observed<NumaId>& node,
          Homeless& homeless, Gaps& gaps) {
  if (node.is_absent()) {
    homeless.labels.push_back(label);
    // A line of a file is somebody else's account of the machine; only the kernel's own file says -1.
    const bool from_file = node.source().line > 0;
    const char* words =
        from_file ? ": the file names no NUMA node for it" : ": the kernel knows no node (-1)";
    homeless.evidence.push_back(seen(machine, node.source(), label + words));
  } else if (!node.is_known()) {
    gaps.add(label, node);
  }
}

}  // namespace

void device_without_node(const Machine& machine, Outcome& outcome) {
  if (cpu_nodes(machine).size() < 2 || !moves_data(machine) || machine.numa.discarded)
    return outcome.not_applicable();
  Gaps gaps("NUMA node");
  Homeless homeless;
  for (const model::Gpu& gpu : machine.gpus) {
    look(machine, gpu_label(gpu), stated_node(machine, gpu.pci, gpu.numa), homeless, gaps);
  }
  for (const model::RdmaDevice& nic : machine.rdma) {
    if (nic.address.is_absent()) continue;  // software device: it has no place
    look(machine, nic.name, stated_node(machine, nic.pci, nic.numa), homeless, gaps);
  }
  if (!homeless.labels.empty()) {
    const bool guest = is_virtual(machine);
    Draft draft;
    draft.title = list_of(homeless.labels) + (homeless.labels.size() == 1 ? " has" : " have") +
                  " no NUMA node although the machine has " + std::to_string(cpu_nodes(machine).size());
    draft.devices = std::move(homeless.labels);
    draft.evidence = std::move(homeless.evidence);
    draft.rank = static_cast<double>(draft.devices.size()) /
                 static_cast<double>(machine.gpus.size() + machine.rdma.size());
    draft.severity = warning_on_bare_metal(machine);
    draft.words.emplace(guest ? "in_guest" : "on_host", "yes");
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

// What scripts assume: GPUs spread over the nodes in order, as many on each.
// Without jobs nobody is known to assume anything.
void gpu_order(const Machine& machine, Outcome& outcome) {
  const auto nodes = cpu_nodes(machine);
  const bool used = std::ranges::any_of(machine.processes, [](const auto& job) { return !job.gpus.empty(); });
  if (nodes.size() < 2 || machine.gpus.size() < 2 || !used) return outcome.not_applicable();
  Gaps gaps("NUMA node");
  Draft draft;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const model::Gpu& gpu = machine.gpus[i];
    const NumaId* node = gpu.numa.get();
    if (node == nullptr) {
      gaps.add(gpu_label(gpu), gpu.numa);
      continue;
    }
    const NumaNode& expected = *nodes[i * nodes.size() / machine.gpus.size()];
    if (*node == expected.id) continue;
    draft.devices.push_back(gpu_label(gpu));
    draft.evidence.push_back(seen(machine, gpu.numa.source(),
                                  gpu_label(gpu) + " is on node " + std::to_string(node->value) +
                                      "; counting through would give " + node_label(expected)));
  }
  if (!gaps.empty()) return gaps.report(outcome);
  if (draft.devices.empty()) return;
  draft.title = "GPU numbers do not follow node numbers: " + list_of(draft.devices) +
                (draft.devices.size() == 1 ? " is" : " are") + " not where a rank-to-node formula puts " +
                (draft.devices.size() == 1 ? "it" : "them");
  outcome.fire(std::move(draft));
}

void allowed_cpus(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.empty() || cpu_nodes(machine).size() < 2) return outcome.not_applicable();
  const CpuSet* allowed = machine.cpus.allowed.get();
  if (allowed == nullptr) return gap(outcome, "CPUs allowed here", machine.cpus.allowed);
  if (allowed->empty()) return;
  Draft draft;
  std::vector<std::string> shut;
  for (const NumaNode* node : cpu_nodes(machine)) {
    const auto gpus = gpus_on(machine, *node);
    // Other nodes of the same socket (NPS, SNC) are near enough.
    if (gpus.empty() || package_cpus(machine, node->id).intersects(*allowed)) continue;
    shut.push_back(node_label(*node));
    draft.devices.insert(draft.devices.end(), gpus.begin(), gpus.end());
    draft.evidence.push_back(
        {node_label(*node) + " has CPUs " + to_list(node->cpus) + " and " + list_of(gpus),
         "/sys/devices/system/node/node" + std::to_string(node->id.value) + "/cpulist"});
  }
  if (shut.empty()) return;
  draft.evidence.insert(draft.evidence.begin(), seen(machine, machine.cpus.allowed.source(),
                                                     "CPUs allowed here: " + to_list(*allowed)));
  draft.title = "CPUs allowed here leave out NUMA " + list_of(shut) + ", where " + list_of(draft.devices) +
                (draft.devices.size() == 1 ? " hangs" : " hang");
  draft.rank = static_cast<double>(draft.devices.size()) / static_cast<double>(machine.gpus.size());
  outcome.fire(std::move(draft));
}

}  // namespace angio::diagnose::numa
