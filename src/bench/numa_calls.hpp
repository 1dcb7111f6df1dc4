// The kernel's calls for NUMA memory and CPU binding, without libnuma. Errors name the call and the errno.
// Not a policy: who binds what is decided above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace angio::bench {

// mbind(MPOL_BIND) of pages not yet touched.
Result<void> bind_range(std::byte* start, std::size_t size, NumaId node);

// move_pages(2) without a target: the node of each page, or a negative errno value.
Result<std::vector<int>> nodes_of_pages(std::span<const std::byte* const> pages);

// The calling thread only.
Result<void> bind_this_thread(std::uint32_t cpu);
Result<CpuSet> affinity_of_this_thread();
Result<void> bind_this_thread(const CpuSet& cpus);

// Puts the calling thread's CPU set back at the end.
class KeptAffinity {
 public:
  KeptAffinity();
  KeptAffinity(const KeptAffinity&) = delete;
  KeptAffinity& operator=(const KeptAffinity&) = delete;
  ~KeptAffinity();

 private:
  std::optional<CpuSet> before_;
};

}  // namespace angio::bench
