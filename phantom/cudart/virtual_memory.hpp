// What the driver's virtual memory is made of.
#pragma once

#include <cstddef>

namespace angio::phantom {

// cuMemGetAllocationGranularity and cuMulticastGetGranularity on every GPU so far: 2 MiB (CUDA Driver API,
// Virtual Memory Management; seen on A100, H100 and B200).
inline constexpr std::size_t kGranularity = std::size_t{2} << 20U;

}  // namespace angio::phantom
