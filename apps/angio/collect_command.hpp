// `angio collect`: probes this machine and writes what the probes read as one .snap file. It reads and
// writes that file; it changes nothing else.
#pragma once

#include "command.hpp"

namespace angio::app {

void setup_collect(CommandLine& app, int& exit_code);

}  // namespace angio::app
