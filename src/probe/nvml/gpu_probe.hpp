// Fills machine.gpus: from PCI alone without a driver, from /@nvml and AMD's sysfs when there.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

void probe_gpus(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
