// A file that exists in memory only, sealed against change, for a child that inherits its descriptor and
// opens it as /proc/self/fd/N: stand-ins, topologies and hardware reach a node without touching a disk.
#pragma once

#include <span>
#include <string>

#include "base/error.hpp"
#include "host/descriptor.hpp"

namespace angio::nccl_run {

// Closed on exec until the child that is meant clears that. name is what /proc shows.
Result<host::Descriptor> make_memory_file(const char* name, std::span<const unsigned char> content);
Result<host::Descriptor> make_memory_file(const char* name, std::string_view content);

// "/proc/self/fd/7".
std::string path_of(const host::Descriptor& file);

}  // namespace angio::nccl_run
