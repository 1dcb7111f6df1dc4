// angio compat: whether the versions of a machine, a container or a pasted list fit each other.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_compat(CLI::App& app, int& exit_code);

}  // namespace angio::app
