// angio compat: whether the versions of a machine, a container or a pasted list fit each other.
#pragma once

namespace angio::app {

class CommandLine;

void setup_compat(CommandLine& app, int& exit_code);

}  // namespace angio::app
