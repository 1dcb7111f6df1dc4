// The files of one GPU and of one NVLink, each with the function that answers it.
#pragma once

#include <string_view>

#include "host/root.hpp"
#include "probe/nvml/nvml_calls.hpp"

namespace angio::probe::nvml {

// "name", "clock/sm", …; ENOENT for a name that is no file.
host::Read<std::string> read_device_leaf(const Calls& calls, Device device, std::string_view leaf);
host::Names device_leaf_names();  // "clock/sm" among them

host::Read<std::string> read_link_leaf(const Calls& calls, Device device, unsigned link,
                                       std::string_view leaf);
host::Names link_leaf_names();

// The function behind the file: "nvmlDeviceGetName" for "name"; null for a name that is no file.
const char* device_leaf_function(std::string_view leaf);
const char* link_leaf_function(std::string_view leaf);
// Numbers of the NVLinks that exist, sorted as names are; EOPNOTSUPP when the GPU has none.
host::Read<host::Names> link_numbers(const Calls& calls, Device device);

}  // namespace angio::probe::nvml
