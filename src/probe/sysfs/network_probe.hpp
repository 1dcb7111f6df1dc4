// Fills machine.rdma and machine.networks from /sys/class/infiniband, /sys/class/net and /@verbs.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

void probe_network(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
