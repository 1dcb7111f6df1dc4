// angio bench collective: collectives over NCCL, MPI or gloo, one rank a GPU.
#pragma once

namespace angio::app {

class CommandLine;

void setup_bench_collective(CommandLine& bench, int& exit_code);

}  // namespace angio::app
