// angio lint: what is wrong in scripts, settings and running jobs, and mends what is certain.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_lint(CLI::App& app, int& exit_code);

}  // namespace angio::app
