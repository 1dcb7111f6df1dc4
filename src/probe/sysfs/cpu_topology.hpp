// Packages and cores from /sys/devices/system/cpu/cpuN/topology, with as few reads as the machine has
// groups: one CPU speaks for its siblings. Not caches, not NUMA nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "host/root.hpp"
#include "model/cpu.hpp"
#include "probe/place.hpp"
#include "probe/sysfs/cpu_model.hpp"

namespace angio::probe {

// Needs cpus.online; fills packages, cores and threads_per_core. info serves where sysfs has no
// topology directories (gVisor, old kernels).
void read_cpu_topology(const Place& cpu_directory, const CpuInfo& info, model::Cpus& cpus);

}  // namespace angio::probe
