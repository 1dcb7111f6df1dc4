// angio dryrun: what the real NCCL decides on hardware that is not here. Options to requests, runs to views.
#pragma once

namespace angio::app {

class CommandLine;

void setup_dryrun(CommandLine& app, int& exit_code);

}  // namespace angio::app
