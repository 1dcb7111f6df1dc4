// The GPUs of a phantom node in CUDA's order, with the NVLinks that NVML is to tell of: from the file where
// it states them, from a model of data/phantom.toml where it does not. For node_design.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "dryrun/design_scan.hpp"
#include "phantom/hardware.hpp"

namespace angio::dryrun {

// NVLinks to one target that the file does not state.
struct AddedLinks {
  std::string target;
  std::string_view target_class;
  std::uint32_t count = 0;
};

struct DesignedGpu {
  phantom::Gpu gpu;
  bool in_file = false;  // it has a <gpu>
  // NCCL takes a target that /sys does not show for an NVSwitch, so links between GPUs must stand in the
  // file; links to a switch are left to NVML.
  bool wired = false;
  std::vector<AddedLinks> added;
  bool sm_of_model = false;
};

// model: the word of --gpu, may be empty. Notes say what was assumed.
Result<std::vector<DesignedGpu>> design_gpus(const Scan& scan, std::string_view model,
                                             std::vector<std::string>& notes);

// Writes GPUs and links into the tree; wired_only: those that must stand in the file.
void add_to_tree(const std::vector<DesignedGpu>& gpus, bool wired_only, nccl::Element& root);

}  // namespace angio::dryrun
