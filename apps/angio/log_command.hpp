// angio log: what the logs of a job say of NCCL.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_log(CLI::App& app, int& exit_code);

}  // namespace angio::app
