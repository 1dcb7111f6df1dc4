// angio advise: what to bind, what to set and what to leave alone for a job of a given shape.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_advise(CLI::App& app, int& exit_code);

}  // namespace angio::app
