// angio log: what the logs of a job say of NCCL.
#pragma once

namespace angio::app {

class CommandLine;

void setup_log(CommandLine& app, int& exit_code);

}  // namespace angio::app
