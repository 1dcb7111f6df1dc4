// Readings of this host's RDMA ports over a time, or while a command runs: its output untouched, signals
// passed on, its end reported.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/rdma_rates.hpp"

namespace angio::app {

struct Watched {
  std::vector<model::RdmaReading> readings;  // two at least, unless interrupted at once
  int signal = 0;                            // that ended the watch early; 0: none
  int exit_code = 0;                         // of the command, as a shell says it
  std::string end;                           // in words: "ended with 0", "was killed by SIGKILL"
};

using TakeReading = std::function<model::RdmaReading()>;

// At the start, every so many seconds, and at the end. Long watches take readings more seldom, so that few
// hundred are kept.
Watched watch_for(const TakeReading& take, double seconds, double every);
// Error: the command could not be started.
Result<Watched> watch_during(const TakeReading& take, const std::vector<std::string>& command, double every);

}  // namespace angio::app
