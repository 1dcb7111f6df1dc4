// NUMA as firmware and kernel describe it: overlapping maps, distances, interleaving, cells of a guest,
// sub-NUMA clusters, CPUs that are off.
#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "diagnose/rules/numa.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::numa {

using model::Machine;
using model::NumaNode;

void maps_overlap(const Machine& machine, Outcome& outcome) {
  if (machine.numa.nodes.size() < 2 && !machine.numa.discarded) return outcome.not_applicable();
  if (!machine.numa.discarded) return;
  Draft draft;
  draft.title = "NUMA nodes claim the same CPUs: firmware's tables are broken";
  draft.severity = model::Severity::kWarning;
  for (const model::Note& note : machine.notes) {
    if (note.id == "numa.overlapping-maps")
      draft.evidence.push_back({note.text, place_of(machine, "/sys/devices/system/node")});
  }
  if (draft.evidence.empty()) {
    draft.evidence.push_back(
        {"CPU maps of the NUMA nodes overlap", place_of(machine, "/sys/devices/system/node/node*/cpumap")});
  }
  outcome.fire(std::move(draft));
}

// ---- distances

namespace {

// Local distance of ACPI's SLIT and of Linux (include/linux/topology.h, LOCAL_DISTANCE).
constexpr std::uint32_t kLocalDistance = 10;

struct Distance {
  const NumaNode* from;
  const NumaNode* to;
  std::uint32_t value;
};

// Distances between different nodes that have CPUs; rows of the wrong length are left out.
std::vector<Distance> remote_distances(const Machine& machine, Gaps& gaps) {
  std::vector<Distance> found;
  const auto& nodes = machine.numa.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].cpus.empty()) continue;
    const auto* row = nodes[i].distances.get();
    if (row == nullptr) {
      gaps.add(node_label(nodes[i]), nodes[i].distances);
      continue;
    }
    for (std::size_t j = 0; j < nodes.size() && row->size() == nodes.size(); ++j) {
      if (j != i && !nodes[j].cpus.empty()) found.push_back({&nodes[i], &nodes[j], (*row)[j]});
    }
  }
  return found;
}

std::string in_words(const Distance& distance) {
  return node_label(*distance.from) + " to " + node_label(*distance.to) + ": " +
         std::to_string(distance.value);
}

}  // namespace

void distances_uninformative(const Machine& machine, Outcome& outcome) {
  if (cpu_nodes(machine).size() < 2) return outcome.not_applicable();
  Gaps gaps("NUMA distances");
  std::vector<Distance> flat = remote_distances(machine, gaps);
  std::erase_if(flat, [](const Distance& distance) { return distance.value > kLocalDistance; });
  if (!flat.empty()) {
    outcome.fire(
        {.title = "Firmware's NUMA distances say nothing: other nodes are as near as the own",
         .evidence = {seen(machine, flat.front().from->distances.source(),
                           in_words(flat.front()) + "; " + std::to_string(kLocalDistance) + " means local")},
         .severity = warning_on_bare_metal(machine)});
  }
  gaps.report(outcome);
}

void distances_asymmetric(const Machine& machine, Outcome& outcome) {
  if (cpu_nodes(machine).size() < 2) return outcome.not_applicable();
  Gaps gaps("NUMA distances");
  const std::vector<Distance> all = remote_distances(machine, gaps);
  std::map<std::pair<std::uint32_t, std::uint32_t>, const Distance*> by_pair;
  for (const Distance& distance : all)
    by_pair[{distance.from->id.value, distance.to->id.value}] = &distance;
  Draft draft;
  std::size_t pairs = 0;
  for (const Distance& there : all) {
    const auto back = by_pair.find({there.to->id.value, there.from->id.value});
    if (there.from->id > there.to->id || back == by_pair.end() || back->second->value == there.value)
      continue;
    if (++pairs == 1) {
      draft.evidence = {seen(machine, there.from->distances.source(), in_words(there)),
                        seen(machine, back->second->from->distances.source(), in_words(*back->second))};
    }
  }
  if (pairs > 0) {
    draft.title = "NUMA distances differ by direction for " + count_of(pairs, "pair") + " of nodes";
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

// ---- nodes against sockets and cores

void packages_in_one_node(const Machine& machine, Outcome& outcome) {
  // A guest's sockets are drawn as its hypervisor likes.
  if (machine.cpus.packages.size() < 2 || !moves_data(machine) || is_virtual(machine))
    return outcome.not_applicable();
  const auto nodes = cpu_nodes(machine);
  if (nodes.size() != 1 || machine.numa.discarded) return;
  if (!is_bare_metal(machine)) {
    return gap(outcome, "whether this is a virtual machine", machine.software.virtual_machine);
  }
  std::string text = count_of(machine.cpus.packages.size(), "socket") + ", one NUMA node with CPUs " +
                     to_list(nodes.front()->cpus);
  Draft draft{.title = count_of(machine.cpus.packages.size(), "socket") + " show as one NUMA node",
              .evidence = {{std::move(text), place_of(machine, "/sys/devices/system/node")}}};
  if (const auto* line = machine.software.kernel_command_line.get(); line != nullptr) {
    const bool off = line->find("numa=off") != std::string::npos;
    if (off)
      draft.evidence.push_back(seen(machine, machine.software.kernel_command_line.source(), "numa=off"));
    draft.words.emplace(off ? "kernel" : "firmware", "yes");
  }
  outcome.fire(std::move(draft));
}

namespace {

bool cuts(const CpuSet& node, const CpuSet& part) {
  return node.intersects(part) && !node.is_subset_of(part) && !part.is_subset_of(node);
}
bool splits_core(const CpuSet& node, const CpuSet& core) {
  return node.intersects(core) && !core.is_subset_of(node);
}

}  // namespace

// libvirt cells with other CPU numbers than the guest's own topology: open-mpi/hwloc issue 712.
void cells_cut_cores(const Machine& machine, Outcome& outcome) {
  const auto nodes = cpu_nodes(machine);
  if (nodes.size() < 2 || machine.cpus.cores.empty() || machine.numa.discarded)
    return outcome.not_applicable();
  std::size_t cores = 0;
  Draft draft;
  for (const NumaNode* node : nodes) {
    for (const model::Core& core : machine.cpus.cores) {
      // Offline siblings belong to no node; a core is whole in a node when its online CPUs are.
      const CpuSet online = core.cpus & machine.cpus.online;
      if (!splits_core(node->cpus, online)) continue;
      if (++cores == 1) {
        draft.evidence.push_back({node_label(*node) + " has CPUs " + to_list(node->cpus),
                                  place_of(machine, "/sys/devices/system/node")});
        draft.evidence.push_back(
            {"threads " + to_list(online) + " are one core", place_of(machine, "/sys/devices/system/cpu")});
      }
    }
    for (const model::Package& package : machine.cpus.packages) {
      if (cores > 0 || !draft.evidence.empty() || !cuts(node->cpus, package.cpus)) continue;
      draft.evidence.push_back({node_label(*node) + " has CPUs " + to_list(node->cpus),
                                place_of(machine, "/sys/devices/system/node")});
      draft.evidence.push_back({"socket " + std::to_string(package.id) + " has CPUs " + to_list(package.cpus),
                                place_of(machine, "/sys/devices/system/cpu")});
    }
  }
  if (draft.evidence.empty()) return;
  draft.title = cores > 0 ? "NUMA nodes split the threads of cores: nodes and CPU numbers do not fit together"
                          : "NUMA nodes and sockets overlap without one holding the other";
  draft.words.emplace(is_virtual(machine) ? "in_guest" : "on_host", "yes");
  outcome.fire(std::move(draft));
}

void fine_grained(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.empty() || machine.numa.nodes.empty()) return outcome.not_applicable();
  const std::uint32_t* per_package = machine.numa.nodes_per_package.get();
  if (per_package == nullptr)
    return gap(outcome, "NUMA nodes in each socket", machine.numa.nodes_per_package);
  if (*per_package < 2) return;
  Draft draft;
  std::set<std::uint32_t> nodes;
  for (const model::Gpu& gpu : machine.gpus) {
    const NumaId* node = gpu.numa.get();
    if (node == nullptr) continue;
    nodes.insert(node->value);
    draft.devices.push_back(gpu_label(gpu));
    draft.evidence.push_back(
        seen(machine, gpu.numa.source(), gpu_label(gpu) + " on node " + std::to_string(node->value)));
  }
  draft.title = "Each socket has " + std::to_string(*per_package) + " NUMA nodes; the GPUs are on " +
                std::to_string(nodes.size()) + " of " + std::to_string(cpu_nodes(machine).size());
  draft.evidence.insert(draft.evidence.begin(), seen(machine, machine.numa.nodes_per_package.source(),
                                                     std::to_string(*per_package) + " nodes in each socket"));
  outcome.fire(std::move(draft));
}

// ---- CPUs

void cpus_offline(const Machine& machine, Outcome& outcome) {
  if (!moves_data(machine)) return outcome.not_applicable();
  const CpuSet* present = machine.cpus.present.get();
  if (present == nullptr) return gap(outcome, "CPUs present", machine.cpus.present);
  // "offline" in sysfs also lists numbers no CPU ever had; present does not.
  const CpuSet off = *present - machine.cpus.online;
  // SMT switched off leaves every second (fourth, eighth) thread off: a choice, not a fault.
  const bool smt_off = !machine.cpus.online.empty() && off.size() % machine.cpus.online.size() == 0;
  if (off.empty() || smt_off) return;
  outcome.fire(
      {.title =
           count_of(off.size(), "CPU") + (off.size() == 1 ? " is" : " are") + " offline: " + to_list(off),
       .evidence = {seen(machine, machine.cpus.present.source(),
                         "present " + to_list(*present) + ", online " + to_list(machine.cpus.online))},
       .rank = static_cast<double>(off.size()) / static_cast<double>(present->size()),
       .words = {{"cpus", to_list(off)}},
       .severity = warning_on_bare_metal(machine)});
}

}  // namespace angio::diagnose::numa
