// Runs one command to its end and times it: standard input is empty, output is kept (its end), signals that
// come meanwhile go to the command and all its children. Not a launcher: nothing is bound here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "bench/interrupts.hpp"

namespace angio::bench {

struct ChildWish {
  std::vector<std::string> argv;                        // argv[0] is looked up in PATH
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; none: this process's own
  std::optional<double> limit_seconds;  // then SIGTERM to it and all its children, SIGKILL 5 s later
  double grace_seconds = 5;             // between a signal that is passed on and SIGKILL
  // Told standard error as it comes, in pieces; may be empty.
  std::function<void(std::string_view piece)> hear_errors = {};
};

struct ChildOutcome {
  double seconds = 0;        // wall time from the start to the end of the command
  int exit_code = 0;         // as a shell says it: 128 + signal number
  int signal = 0;            // that ended it; 0: none
  bool interrupted = false;  // by the user, through us
  bool timed_out = false;    // it was ended at its limit
  std::string output;        // the end of standard output, at most kKept
  std::string errors;        // the end of standard error
};

inline constexpr std::size_t kKept = std::size_t{4} << 20U;

// argv[0] is looked up in PATH.
Result<ChildOutcome> run_child(const ChildWish& wish, const Interrupts& interrupts);
Result<ChildOutcome> run_child(const std::vector<std::string>& argv, const Interrupts& interrupts);

}  // namespace angio::bench
