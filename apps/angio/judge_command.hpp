// angio judge: holds results of benchmarks against what the hardware should give.
#pragma once

namespace angio::app {

class CommandLine;
void setup_judge(CommandLine& app, int& exit_code);

}  // namespace angio::app
