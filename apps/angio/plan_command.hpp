// angio plan: where each rank would go, why, and the same for other launchers.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_plan(CLI::App& app, int& exit_code);

}  // namespace angio::app
