// How NVIDIA's GPUs reach each other: NVLinks and peer access, from /@nvml.
#pragma once

#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe {

// nvml is the GPU's directory, "/@nvml/gpu/0".
void describe_nvlinks(const Place& nvml, model::Machine& machine, model::Gpu& gpu);
void describe_peers(const Place& nvml, model::Machine& machine, model::Gpu& gpu);

}  // namespace angio::probe
