// angio bench: memory between the nodes of this machine, and one command against another.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_bench(CLI::App& app, int& exit_code);

}  // namespace angio::app
