// Reads the file of kHardwareVariable, for the stand-ins that are loaded into NCCL one by one and therefore
// each read it themselves. Not a parser: that is phantom/hardware.hpp.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "phantom/hardware.hpp"

namespace angio::phantom {

// Empty on success, else one sentence.
inline std::string read_hardware_file(Hardware& hardware) {
  const char* const path = std::getenv(kHardwareVariable);
  if (path == nullptr) {
    return std::string(kHardwareVariable) + " is not set";
  }
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return std::string(path) + ": " + std::strerror(errno);
  }
  std::string text;
  char block[16384];
  // From the start, whoever read this descriptor before: a memfd is handed to several stand-ins.
  while (text.size() <= kMostText) {
    const ssize_t got = ::pread(fd, block, sizeof block, static_cast<off_t>(text.size()));
    if (got <= 0) {
      break;
    }
    text.append(block, static_cast<std::size_t>(got));
  }
  ::close(fd);
  if (text.size() > kMostText) {
    return std::string(path) + ": more than " + std::to_string(kMostText >> 20U) + " MiB of hardware";
  }
  const std::string problem = parse_hardware(text, hardware);
  return problem.empty() ? problem : std::string(path) + ": " + problem;
}

}  // namespace angio::phantom
