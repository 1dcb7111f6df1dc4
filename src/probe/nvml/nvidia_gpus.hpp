// NVIDIA's half of probe_gpus: what /@nvml says, or /proc/driver/nvidia when NVML cannot be asked.
// Reads only through Root. Every vendor has these two functions.
#pragma once

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

// Joins NVML's GPUs to those PCI found, by bus address; adds those PCI lacks. machine.gpus is unordered here.
void add_nvidia_gpus(const host::Root& root, model::Machine& machine);
// Fills the attributes; machine.gpus is in its final order.
void describe_nvidia_gpus(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
