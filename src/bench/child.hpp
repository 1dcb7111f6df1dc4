// Runs one command to its end and times it: standard input is empty, output is kept (its end), signals that
// come meanwhile go to the command and all its children. Not a launcher: nothing is bound here.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "bench/interrupts.hpp"

namespace angio::bench {

struct ChildOutcome {
  double seconds = 0;        // wall time from the start to the end of the command
  int exit_code = 0;         // as a shell says it: 128 + signal number
  int signal = 0;            // that ended it; 0: none
  bool interrupted = false;  // by the user, through us
  std::string output;        // the end of standard output, at most kKept
  std::string errors;        // the end of standard error
};

inline constexpr std::size_t kKept = std::size_t{4} << 20U;

// argv[0] is looked up in PATH.
Result<ChildOutcome> run_child(const std::vector<std::string>& argv, const Interrupts& interrupts);

}  // namespace angio::bench
