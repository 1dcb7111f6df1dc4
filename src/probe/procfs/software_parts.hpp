// The parts of the software probe, one topic a file. Used by software_probe.cpp and its tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/root.hpp"
#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe::software {

// NVIDIA's and AMD's kernel modules, NVML's words, OFED.
void probe_drivers(const host::Root& root, model::Machine& machine);
// Version and kind in /proc/driver/nvidia/version's first line.
struct LoadedDriver {
  std::string version;
  bool open = false;
};
std::optional<LoadedDriver> parse_loaded_driver(std::string_view text);

// libcuda, libnvidia-ml, libnccl, libibverbs ... in the usual directories and those of LD_LIBRARY_PATH.
void probe_libraries(const host::Root& root, model::Machine& machine);
// "570.86.15" of "libcuda.so.570.86.15"; empty for "libcuda.so.1".
std::string library_version(std::string_view file_name);
// What a link leads to, across links to links; the path itself when it is no link.
std::string resolve_library(const host::Root& root, const std::string& path);
// Names of the libraries in a directory: the live root offers the short list, elsewhere all its names.
host::Read<host::Names> library_names(const host::Root& root, const std::string& directory);
bool has_library_stem(std::string_view file_name);  // of the libraries Angio cares about

// Bare metal or which hypervisor; which container engine.
void probe_virtualization(const host::Root& root, model::Machine& machine);

// Limits, /dev/shm, environment and nccl.conf.
void probe_settings(const host::Root& root, model::Machine& machine);
// "1048576 unlimited" as soft and hard.
std::optional<model::Limit> parse_limit(std::string_view text);

// nv-fabricmanager: by its service's control group, its pid file, or among all processes of an NVSwitch host.
void probe_fabric_manager(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe::software
