// `angio run`: starts a command with its CPUs and memory next to its GPU. As a wrapper inside a launcher it
// becomes the command; as a launcher it starts and watches the ranks.
#pragma once

#include "command.hpp"

namespace angio::app {

void setup_run(CommandLine& app, int& exit_code);

// argv[0] is "run". What follows the first word that is no option of run's belongs to the command.
int run_words(int argc, char** argv);

}  // namespace angio::app
