// This machine as one Root: its file systems, NVML, verbs, network addresses, environment, limits.
// Secrets are removed on the way (host/discreet.hpp), before any recorder or probe sees them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "host/libraries.hpp"
#include "host/root.hpp"

namespace angio::probe {

// loader finds the vendor libraries; environment as host::read_environment() gives it.
Result<std::unique_ptr<host::Root>> make_live_machine_root(const host::LibraryLoader& loader,
                                                           std::span<const std::string> environment);

// The same with the system's loader and this process's environment.
Result<std::unique_ptr<host::Root>> make_live_machine_root();

// A captured directory tree as a machine. NVML, environment and the like were not captured with it: unknown.
Result<std::unique_ptr<host::Root>> make_tree_root(const std::string& directory);

}  // namespace angio::probe
