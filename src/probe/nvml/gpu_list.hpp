// What the vendors of probe_gpus share.
#pragma once

#include <cstddef>

#include "model/machine.hpp"

namespace angio::probe {

// Beyond this a source is broken or hostile; pairs of GPUs are looked at, so the number must stay small.
inline constexpr std::size_t kMostGpus = 1024;

// False, with one note for the machine, when there are that many.
bool has_room_for_gpu(model::Machine& machine, std::size_t others = 0);

// The GPU at address; made, with its place in machine.pci, when there is none.
model::Gpu& gpu_at(model::Machine& machine, const model::Observed<PciAddress>& address,
                   model::GpuVendor vendor);

}  // namespace angio::probe
