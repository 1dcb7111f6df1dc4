// angio bench: memory between the nodes of this machine, and one command against another.
#pragma once

namespace angio::app {

class CommandLine;

void setup_bench(CommandLine& app, int& exit_code);

}  // namespace angio::app
