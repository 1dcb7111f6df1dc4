// Where a GPU or a rank is at home: the node, what says so, and the pool of cores nearest to it that the
// mask leaves. Also which node's memory is nearest. Not how cores are shared out: that is cores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/cores.hpp"

namespace angio::plan {

struct Place {
  std::optional<NumaId> node;       // as stated; none: unknown
  std::string evidence;             // "sysfs numa_node of 0000:ab:00.0"; why not, when unknown
  std::optional<std::size_t> home;  // pool of the nearest node with CPUs
  std::optional<std::size_t> pool;  // the same, or the nearest that the mask leaves cores in
};

Place locate_gpu(const model::Machine& machine, const Cores& cores, std::uint32_t gpu);

// SLIT distance between two nodes by index in machine.numa.nodes; none: not known. Relative, never a latency.
std::optional<std::uint32_t> node_distance(const model::Machine& machine, std::size_t from, std::size_t to);

// Pools of the same package as this one, itself included; only itself when packages are not known.
std::vector<const Pool*> package_pools(const Cores& cores, std::size_t pool);

}  // namespace angio::plan
