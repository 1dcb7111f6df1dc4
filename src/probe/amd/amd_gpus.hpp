// AMD's half of probe_gpus: amdgpu's files in sysfs and the KFD topology (xGMI links). No library needed.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

// The same two functions as every vendor's.
void add_amd_gpus(const host::Root& root, model::Machine& machine);
void describe_amd_gpus(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
