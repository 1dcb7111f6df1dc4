// Words and exit code for how a group ended. Pure.
#pragma once

#include <string>

#include "launch/supervisor.hpp"

namespace angio::launch {

// "SIGSEGV", "SIGRTMIN+3", "signal 77".
std::string signal_name(int signal);
// "rank 3 (pid 1234) killed by SIGSEGV (core dumped) after 12.3 s"
std::string describe_end(const RankEnd& end);
// How much an end looks like the cause of the others' rather than like an answer to it: 2 killed by a signal
// that comes from outside or of a fault, 1 SIGABRT and SIGPIPE (a library that lost its peer), 0 an exit
// code.
int blame_of(const RankEnd& end);
// The exit code that GroupOutcome promises, from the other fields.
int exit_code_of(const GroupOutcome& outcome);

}  // namespace angio::launch
