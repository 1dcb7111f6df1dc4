// Which NVML function answers which file of the tree in nvml_root.hpp. Plain tables over nvml_calls.
#pragma once

#include <string_view>

#include "host/root.hpp"
#include "probe/nvml/nvml_calls.hpp"

namespace angio::probe::nvml {

// Paths are relative to the tree: "/gpu/0/name". NVML must be initialised.
host::Read<std::string> read_leaf(const Calls& calls, std::string_view path);
host::Read<host::Names> list_directory(const Calls& calls, std::string_view path);

}  // namespace angio::probe::nvml
