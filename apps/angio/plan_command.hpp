// angio plan: where each rank would go, why, and the same for other launchers.
#pragma once

namespace angio::app {

class CommandLine;

void setup_plan(CommandLine& app, int& exit_code);

}  // namespace angio::app
