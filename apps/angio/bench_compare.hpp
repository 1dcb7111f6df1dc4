// angio bench compare: options and the work of one comparison. Used by bench_command.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_bench_compare(CLI::App& bench, int& exit_code);

}  // namespace angio::app
