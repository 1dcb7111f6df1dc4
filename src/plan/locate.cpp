#include "plan/locate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace angio::plan {
namespace {

using model::Machine;

// "/sys/bus/pci/devices/0000:ab:00.0/numa_node" reads better as "sysfs numa_node of 0000:ab:00.0".
std::string shorten(const std::string& cited) {
  constexpr std::string_view kDevices = "/sys/bus/pci/devices/";
  if (!cited.starts_with(kDevices)) return cited;
  const std::size_t slash = cited.find('/', kDevices.size());
  if (slash == std::string::npos) return cited;
  return fmt::format("sysfs {} of {}", cited.substr(slash + 1),
                     cited.substr(kDevices.size(), slash - kDevices.size()));
}

// The same steps as model::nearest_node, in words.
std::string evidence_of(const Machine& machine, std::uint32_t index) {
  const model::Gpu& gpu = machine.gpus[index];
  if (gpu.numa.is_known()) return shorten(model::cite(machine, gpu.numa.source()));
  if (gpu.pci && *gpu.pci < machine.pci.devices.size()) {
    for (const std::uint32_t above : model::chain_of(machine.pci, *gpu.pci)) {
      const model::PciDevice& bridge = machine.pci.devices[above];
      if (bridge.numa.is_known()) return shorten(model::cite(machine, bridge.numa.source()));
    }
  }
  const auto with_cpus =
      std::ranges::count_if(machine.numa.nodes, [](const auto& node) { return !node.cpus.empty(); });
  if (with_cpus == 1) return "the only node with CPUs";
  return machine.stated_paths ? "the topology matrix, " + model::cite(machine, machine.stated_paths->source)
                              : "the source";
}

std::string why_unknown(const Machine& machine, std::uint32_t index) {
  const model::Gpu& gpu = machine.gpus[index];
  const bool on_tree = gpu.pci && *gpu.pci < machine.pci.devices.size();
  if (on_tree && machine.pci.devices[*gpu.pci].numa.is_absent()) {
    return "sysfs says -1, the bridges above say no more, and NVML did not say";
  }
  if (machine.numa.discarded) return "the kernel's NUMA maps contradict each other";
  return "the source does not say";
}

std::optional<std::size_t> node_index(const Machine& machine, NumaId id) {
  const auto found = std::ranges::find(machine.numa.nodes, id, &model::NumaNode::id);
  if (found == machine.numa.nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - machine.numa.nodes.begin());
}

// The pool nearest to a node among those that are `wanted`. Equal distance: the same package, then the lower
// number.
std::optional<std::size_t> nearest_pool(const Machine& machine, const Cores& cores, std::size_t from,
                                        const std::optional<std::uint32_t>& package,
                                        const std::function<bool(const Pool&)>& wanted) {
  std::optional<std::size_t> best;
  std::tuple<std::uint32_t, bool> best_key{UINT32_MAX, true};
  for (std::size_t i = 0; i < cores.pools.size(); ++i) {
    const Pool& pool = cores.pools[i];
    if (!wanted(pool)) continue;
    const std::tuple key{node_distance(machine, from, pool.index).value_or(UINT32_MAX),
                         !package || pool.package != package};
    if (!best || key < best_key) {
      best = i;
      best_key = key;
    }
  }
  return best;
}

std::optional<std::size_t> home_of(const Machine& machine, const Cores& cores, std::size_t node) {
  for (std::size_t i = 0; i < cores.pools.size(); ++i) {
    if (cores.pools[i].index == node) return i;
  }
  if (cores.pools.size() == 1) return 0;
  // A node without CPUs: without distances any answer would be a guess.
  if (!machine.numa.nodes[node].distances.is_known()) return std::nullopt;
  return nearest_pool(machine, cores, node, std::nullopt, [](const Pool&) { return true; });
}

}  // namespace

std::optional<std::uint32_t> node_distance(const Machine& machine, std::size_t from, std::size_t to) {
  if (from >= machine.numa.nodes.size()) return std::nullopt;
  const std::vector<std::uint32_t>* row = machine.numa.nodes[from].distances.get();
  if (row == nullptr || to >= row->size()) return std::nullopt;
  return (*row)[to];
}

Place locate_gpu(const Machine& machine, const Cores& cores, std::uint32_t gpu) {
  Place place;
  place.node = model::nearest_node(machine, {model::DeviceKind::kGpu, gpu});
  if (!place.node) {
    place.evidence = why_unknown(machine, gpu);
    return place;
  }
  place.evidence = evidence_of(machine, gpu);
  const auto node = node_index(machine, *place.node);
  if (!node) {
    place.evidence += fmt::format(", but node {}'s CPUs are not known", place.node->value);
    return place;
  }
  place.home = home_of(machine, cores, *node);
  if (!place.home) {
    place.evidence += fmt::format(", but node {} has no CPUs, and which node is nearest to it is not known",
                                  place.node->value);
    return place;
  }
  place.pool = place.home;
  const Pool& home = cores.pools[*place.home];
  if (home.cores.empty()) {
    place.pool = nearest_pool(machine, cores, home.index, home.package,
                              [](const Pool& pool) { return !pool.cores.empty(); });
  }
  return place;
}

std::vector<const Pool*> package_pools(const Cores& cores, std::size_t pool) {
  std::vector<const Pool*> same;
  for (std::size_t i = 0; i < cores.pools.size(); ++i) {
    const Pool& other = cores.pools[i];
    if (i == pool || (other.package && other.package == cores.pools[pool].package)) same.push_back(&other);
  }
  return same;
}

}  // namespace angio::plan
