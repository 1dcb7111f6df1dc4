// angio nccl-topo: NCCL topology and graph files: make, check, show, change, compare and join them, and
// compute the paths and channels that NCCL makes of them.
#pragma once

namespace angio::app {

class CommandLine;

void setup_nccl_topo(CommandLine& app, int& exit_code);

}  // namespace angio::app
