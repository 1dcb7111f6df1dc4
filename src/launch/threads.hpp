// The other threads of this process, for a binding that comes late: their CPU mask can still be set, their
// memory policy cannot. Used by the C library; `angio run` binds before threads exist.
#pragma once

#include <cstdint>

#include "base/cpu_set.hpp"

namespace angio::launch {

struct OtherThreads {
  std::uint32_t found = 0;  // besides the calling one
  std::uint32_t bound = 0;
};

// Threads that end meanwhile are not counted; ones that begin meanwhile inherit from their maker.
OtherThreads bind_other_threads(const CpuSet& cpus);

}  // namespace angio::launch
