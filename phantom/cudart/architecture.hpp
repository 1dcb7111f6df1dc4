// What a GPU of some compute capability offers a kernel: the part of its description that follows from the
// architecture. NCCL sizes its kernels' shared memory by it and nothing else here.
//
// An exception to the rule that facts stand in data/*.toml: these are limits of the CUDA interface, a
// stand-in needs nothing but glibc, and no figure that angio shows or judges comes from here. Source: CUDA
// C++ Programming Guide 13.0, section "Technical Specifications per Compute Capability".
#pragma once

namespace angio::phantom {

struct Architecture {
  int compute_capability;  // times ten; this one and those up to the next entry
  int shared_per_sm;       // bytes of shared memory of a multiprocessor
  int shared_per_block;    // bytes that a block may ask for
  int threads_per_sm;      // resident
  int multiprocessors;     // of the largest product that is sold
};

// By that table; multiprocessors of V100, T4, A100, A40, L40S, H100 SXM, B200 and RTX PRO 6000 by NVIDIA's
// white papers on their architectures.
inline constexpr Architecture kArchitectures[] = {
    {0, 98304, 49152, 2048, 80},      {70, 98304, 98304, 2048, 80},    {75, 65536, 65536, 1024, 40},
    {80, 167936, 166912, 2048, 108},  {86, 102400, 101376, 1536, 84},  {87, 167936, 166912, 1536, 16},
    {89, 102400, 101376, 1536, 142},  {90, 233472, 232448, 2048, 132}, {100, 233472, 232448, 2048, 148},
    {120, 102400, 101376, 1536, 188},
};

constexpr const Architecture& architecture(unsigned sm) {
  const Architecture* found = kArchitectures;
  for (const Architecture& entry : kArchitectures) {
    if (entry.compute_capability <= static_cast<int>(sm)) {
      found = &entry;
    }
  }
  return *found;
}

// cudaDevAttrMaxSharedMemoryPerBlock: what a block gets without asking, on all of them.
inline constexpr int kPlainSharedPerBlock = 49152;
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kWarpSize = 32;

}  // namespace angio::phantom
