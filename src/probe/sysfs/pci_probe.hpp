// Fills machine.pci from /sys/bus/pci/devices, bridges included.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

void probe_pci(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
