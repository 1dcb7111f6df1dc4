// NUMA rules: the checks that numa.cpp lists, and what several of them ask. Private to the numa*.cpp files.
#pragma once

#include <string>
#include <vector>

#include "diagnose/rule.hpp"
#include "model/machine.hpp"

namespace angio::diagnose::numa {

std::string node_label(const model::NumaNode& node);  // "node 3"
// Nodes with CPUs, by id.
std::vector<const model::NumaNode*> cpu_nodes(const model::Machine& machine);
// GPUs, or RDMA cards: a machine where placement is worth a warning.
bool moves_data(const model::Machine& machine);
// The node's GPUs, "GPU 4, GPU 5"; empty without.
std::vector<std::string> gpus_on(const model::Machine& machine, const model::NumaNode& node);
// Warning only where the host is known to be real; a guest's shape is its hypervisor's business.
model::Severity warning_on_bare_metal(const model::Machine& machine);

// What firmware and kernel say.
void maps_overlap(const model::Machine& machine, Outcome& outcome);
void distances_uninformative(const model::Machine& machine, Outcome& outcome);
void distances_asymmetric(const model::Machine& machine, Outcome& outcome);
void packages_in_one_node(const model::Machine& machine, Outcome& outcome);
void cells_cut_cores(const model::Machine& machine, Outcome& outcome);
void fine_grained(const model::Machine& machine, Outcome& outcome);
void cpus_offline(const model::Machine& machine, Outcome& outcome);
// Memory.
void node_without_memory(const model::Machine& machine, Outcome& outcome);
void memory_uneven(const model::Machine& machine, Outcome& outcome);
void memory_exhausted(const model::Machine& machine, Outcome& outcome);
void huge_pages_one_sided(const model::Machine& machine, Outcome& outcome);
void host_pages_on_gpu(const model::Machine& machine, Outcome& outcome);
// Devices.
void device_without_node(const model::Machine& machine, Outcome& outcome);
void gpu_order(const model::Machine& machine, Outcome& outcome);
void allowed_cpus(const model::Machine& machine, Outcome& outcome);

}  // namespace angio::diagnose::numa
