// angio nccl-topo: NCCL topology and graph files: make, check, show, change, compare and join them, and
// compute the paths and channels that NCCL makes of them.
#pragma once

namespace CLI {
class App;
}

namespace angio::app {

void setup_nccl_topo(CLI::App& app, int& exit_code);

}  // namespace angio::app
