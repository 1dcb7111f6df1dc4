// angio scaling: a table of results over N ranks or GPUs to speed-up, efficiency, knee and split.
#pragma once

namespace angio::app {

class CommandLine;

void setup_scaling(CommandLine& app, int& exit_code);

}  // namespace angio::app
