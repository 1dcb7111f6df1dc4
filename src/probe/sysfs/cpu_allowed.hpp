// The CPUs this process may use: the cpuset of its cgroup (v1, v2 or both) and its affinity mask.
// Sees through cgroup namespaces, bind mounts and cgroups without a cpuset controller.
#pragma once

#include "base/cpu_set.hpp"
#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe {

// Needs machine.cpus.online; fills cpus.allowed and cpus.cgroup.
void read_allowed_cpus(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
