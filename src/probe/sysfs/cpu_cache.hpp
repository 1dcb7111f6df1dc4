// Caches from /sys/devices/system/cpu/cpuN/cache, each read once for all CPUs that share it.
#pragma once

#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe {

// Needs machine.cpus.online; fills machine.cpus.caches.
void read_caches(const Place& cpu_directory, model::Machine& machine);

}  // namespace angio::probe
