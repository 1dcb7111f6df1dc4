// Which GPUs a process sees, and in which order: the visible-devices variables read as CUDA, ROCr and HIP
// read them. Not which rank takes which of them: that is placement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/machine.hpp"
#include "plan/plan.hpp"

namespace angio::plan {

struct VisibleGpu {
  std::optional<std::uint32_t>
      gpu;             // in machine.gpus; none: a MIG device, and which GPU holds it is not known
  std::string device;  // the word of the variable, or the number without one
  bool slice = false;  // a MIG device: other ranks may have the rest of the GPU
};

struct Visible {
  std::vector<VisibleGpu> gpus;    // in the order in which the process counts them
  std::vector<std::uint32_t> all;  // of the same vendor, visible or not, by PCI address
  std::string variable;            // "CUDA_VISIBLE_DEVICES"; empty: none is set
  std::vector<model::Note> notes;
};

// Errors: the first word names no GPU. "", "-1", "none" and "NoDevFiles" are ways to say that there is none.
Result<Visible> find_visible(const model::Machine& machine, const VisibleDevices& variables);

}  // namespace angio::plan
