// One thread's CPU mask, of any size. Shared by the bindings of this folder.
#pragma once

#include "base/cpu_set.hpp"
#include "base/error.hpp"

namespace angio::launch {

// thread 0: the calling one. Returns 0 or errno.
int set_affinity(int thread, const CpuSet& cpus);

// The CPUs that the calling thread may use.
Result<CpuSet> read_affinity();

}  // namespace angio::launch
