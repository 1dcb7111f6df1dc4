// Makes the file of one communicator's rank in shared memory and maps it. Its pages are reserved when it is
// made: a full /dev/shm refuses here, with an error, and never kills the job with SIGBUS later.
#pragma once

#include <cstdint>
#include <string>

#include "profile_ring/layout.hpp"
#include "settings.hpp"

namespace angio::profiler {

struct Mapping {
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
};

// The header is filled but for what the caller knows (interface, communicator). number: of the files of this
// process. Returns what is wrong, empty when nothing.
std::string make_ring_file(const Settings& settings, std::uint32_t number, Mapping& mapping);

}  // namespace angio::profiler
