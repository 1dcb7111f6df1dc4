// angio topo: one machine's hardware map as text, JSON, picture or page; or what differs between two.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_topo(CLI::App& app, int& exit_code);

}  // namespace angio::app
