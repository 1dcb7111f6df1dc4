// Fills machine.numa from /sys/devices/system/node and /proc/sys/vm; tells GPU, CXL and HBM nodes apart.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

void probe_numa(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
