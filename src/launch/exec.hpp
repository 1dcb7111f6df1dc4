// Becomes another program, as a shell's exec does: same process, same descriptors, same signal dispositions.
// Returns only when that failed, with the exit code a shell would give.
#pragma once

#include <span>
#include <string>

#include "base/error.hpp"

namespace angio::launch {

struct ExecFailure {
  Error error;
  int exit_code = 126;  // 127: no such program; 126: it is there and cannot be executed
};

// argv: a null-terminated array, argv[0] the program, searched in PATH unless it holds a slash.
// environment: "NAME=value"; the entries must outlive the call.
ExecFailure exec_program(char* const* argv, std::span<const std::string> environment);

}  // namespace angio::launch
