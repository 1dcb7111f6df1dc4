// NCCL as a Python wheel: the file is just libnccl.so.2, its version stands in the name of the wheel's
// metadata folder (nvidia_nccl_cu12-2.21.5.dist-info). Not for other packages. Used by the process probe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/root.hpp"

namespace angio::probe::process {

// The folder of packages that path lies in, ".../site-packages" or ".../dist-packages"; empty: in none.
std::string_view packages_folder(std::string_view path);

// Version of the NCCL wheel installed in a folder of packages.
std::optional<std::string> nccl_wheel_version(const host::Root& root, std::string_view folder);

}  // namespace angio::probe::process
