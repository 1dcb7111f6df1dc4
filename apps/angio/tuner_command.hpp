// angio tuner: look at a table for the tuner plugin without NCCL.
#pragma once

namespace angio::app {

class CommandLine;

void setup_tuner(CommandLine& app, int& exit_code);

}  // namespace angio::app
