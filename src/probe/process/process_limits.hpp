// Memory and CPU limits of one process by its control groups, v1 and v2: the tightest on the way up.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe::process {

void probe_group_limits(const host::Root& root, model::Machine& machine, model::Process& process);

}  // namespace angio::probe::process
