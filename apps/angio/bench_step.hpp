// `angio bench step`: training steps, their time split, exposed communication, scaling.
#pragma once

namespace angio::app {

class CommandLine;

void setup_bench_step(CommandLine& bench, int& exit_code);
// The hidden word `angio step-rank SPEC`: one rank of the traffic over NCCL.
int run_step_rank_words(int argc, char** argv);

}  // namespace angio::app
