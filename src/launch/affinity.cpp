#include "launch/affinity.hpp"

#include <sched.h>

#include <cerrno>
#include <memory>
#include <vector>

namespace angio::launch {
namespace {

struct CpuMaskDeleter {
  void operator()(cpu_set_t* mask) const { CPU_FREE(mask); }
};
using CpuMask = std::unique_ptr<cpu_set_t, CpuMaskDeleter>;

}  // namespace

int set_affinity(int thread, const CpuSet& cpus) {
  const std::vector<std::uint32_t> members = cpus.members();
  const std::size_t count = members.empty() ? 1 : members.back() + 1U;
  const std::size_t size = CPU_ALLOC_SIZE(count);
  const CpuMask mask(CPU_ALLOC(count));
  if (mask == nullptr) return ENOMEM;
  CPU_ZERO_S(size, mask.get());
  for (const std::uint32_t cpu : members)
    CPU_SET_S(cpu, size, mask.get());
  return sched_setaffinity(thread, size, mask.get()) == 0 ? 0 : errno;
}

Result<CpuSet> read_affinity() {
  // The kernel wants room for every CPU it could have; how many that is, only it knows.
  for (std::size_t count = CPU_SETSIZE; count <= CpuSet::kMaxCpu + 1; count *= 2) {
    const std::size_t size = CPU_ALLOC_SIZE(count);
    const CpuMask mask(CPU_ALLOC(count));
    if (mask == nullptr) return fail(ErrorCode::kIo, "no memory for a CPU mask");
    if (sched_getaffinity(0, size, mask.get()) != 0) {
      if (errno == EINVAL) continue;
      return fail(ErrorCode::kDenied, "sched_getaffinity refused: " + errno_text(errno));
    }
    CpuSet cpus;
    for (std::uint32_t cpu = 0; cpu < count; ++cpu) {
      if (CPU_ISSET_S(cpu, size, mask.get())) cpus.insert(cpu);
    }
    return cpus;
  }
  return fail(ErrorCode::kUnsupported, "sched_getaffinity: more CPUs than angio counts");
}

}  // namespace angio::launch
