// CPU sets as sysfs writes them: a list file where the kernel has one, else the mask file beside it.
// Used by the CPU, NUMA and PCI probes; not for cgroup files, which have no masks.
#pragma once

#include <optional>
#include <string>

#include "base/cpu_set.hpp"
#include "host/root.hpp"
#include "probe/place.hpp"

namespace angio::probe {

// "(null)" is what kernels write for a mask they never allocated (nohz_full): the empty set.
std::optional<CpuSet> parse_kernel_cpu_list(std::string_view text);

// list, or mask where list is absent; a mask of nullptr is not tried.
Observed<CpuSet> observe_cpu_set(const Place& place, const char* list, const char* mask = nullptr);

// The same for hot paths that keep no source.
std::optional<CpuSet> read_cpu_list(const host::Root& root, const std::string& path);
std::optional<CpuSet> read_cpu_mask(const host::Root& root, const std::string& path);

// The number N of "cpuN" or "nodeN"; none for other names and numbers above CpuSet::kMaxCpu.
std::optional<std::uint32_t> parse_numbered_name(std::string_view name, std::string_view prefix);

}  // namespace angio::probe
