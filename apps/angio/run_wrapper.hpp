// The wrapper form of `angio run`: finds this process's rank, binds it, and becomes the command. Everything
// that goes wrong with binding leaves the command unbound and says so, unless --strict. Not the launcher.
#pragma once

#include "run_options.hpp"

namespace angio::app {

// Returns only when the command was not started: an exit code of angio's, or a shell's 126 and 127.
int run_wrapped(const RunOptions& options);

}  // namespace angio::app
