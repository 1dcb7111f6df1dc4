// The GPUs of probe_placement: address, node, and the number under which this process counts them. From the
// driver's lists rather than from a walk over all PCI devices, which are hundreds on a server.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

// Needs machine.numa. Adds the GPUs, and their PCI devices (with the bridges above where a GPU does not know
// its node) unless machine.pci is filled already.
void read_placement_gpus(const host::Root& root, bool uuids, model::Machine& machine);

}  // namespace angio::probe
