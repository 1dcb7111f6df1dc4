// When a process started. A process number comes back after 32768 others or so; number and start together
// name one process since boot. Used by whatever must know whether the owner of a file still lives.
// Not what a process does or has (probe/process).
#pragma once

#include <cstdint>
#include <optional>

#include "host/root.hpp"

namespace angio::host {

struct ProcessStart {
  std::uint64_t ticks = 0;  // after boot, of the clock that sysconf(_SC_CLK_TCK) counts
  bool ended = false;       // only its number is left, until its parent asks
};

// Nothing when there is no such process, or it cannot be read.
std::optional<ProcessStart> read_process_start(const Root& root, std::uint32_t process);

}  // namespace angio::host
