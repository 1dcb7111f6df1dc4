// Fills machine.cpus from /sys/devices/system/cpu, /proc/cpuinfo and the cgroup of this process.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

void probe_cpus(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
