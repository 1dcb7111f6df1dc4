// Steps of make_system: the paths between the nodes of NCCL's system graph (ncclTopoComputePaths of
// src/graph/paths.cc), and the two-level switches of Broadcom made one. Nothing else needs them.
#pragma once

#include "nccl/system_graph.hpp"

namespace angio::nccl {

// Fills paths, local_gpu of the NETs and the two bandwidths of the whole system.
void compute_paths(System& system);

// Before the CPUs are joined and the links sorted.
void flatten_broadcom(System& system);

}  // namespace angio::nccl
