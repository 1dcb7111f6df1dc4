// angio bench compare: options and the work of one comparison. Used by bench_command.
#pragma once

namespace angio::app {

class CommandLine;

void setup_bench_compare(CommandLine& bench, int& exit_code);

}  // namespace angio::app
