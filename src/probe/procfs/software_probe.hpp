// Fills machine.software and the machine's name: kernel, drivers, libraries, container, VM, limits, settings.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

void probe_software(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
