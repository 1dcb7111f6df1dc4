// angio bench all: walks the levels from memory to the training step and says which first falls below. Used
// by bench_command.
#pragma once

namespace angio::app {

class CommandLine;

void setup_bench_all(CommandLine& bench, int& exit_code);

}  // namespace angio::app
