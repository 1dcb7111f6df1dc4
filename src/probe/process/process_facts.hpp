// What both looks at a process share (probe_processes for snapshots, probe_jobs for `angio ps`): parent,
// locked memory, memory by node, its threads' masks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/software.hpp"
#include "probe/place.hpp"

namespace angio::probe::process {

using GpusByProcess = std::map<std::uint32_t, std::vector<std::uint32_t>>;

// Who has a context on which GPU, by NVML: "/@nvml/gpu/N/processes", a line each, pid and bytes.
GpusByProcess gpu_users(const host::Root& root, const model::Machine& machine);

// Parent, locked and pinned memory, allowed memory nodes.
void take_status(const Place& place, const host::Read<std::string>& status, model::Process& process);

// numa_maps: bytes by node and kind, policies.
void take_memory(const Place& place, model::Process& process);

template <typename T>
Observed<T> value_or_reason(const Place& place, const char* leaf, const std::optional<T>& value,
                            const host::Read<std::string>& content) {
  if (value) return Observed<T>::known(*value, place.source(leaf));
  if (!content) return place.missing<T>(leaf, content.error());
  return Observed<T>::unreadable(model::Reason::kUnparsable, place.source(leaf));
}

}  // namespace angio::probe::process
