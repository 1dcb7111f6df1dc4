// angio ps: which training processes run here, whether each is where its GPU is, and what dead ones left.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_ps(CLI::App& app, int& exit_code);

}  // namespace angio::app
