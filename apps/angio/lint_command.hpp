// angio lint: what is wrong in scripts, settings and running jobs, and mends what is certain.
#pragma once

namespace angio::app {

class CommandLine;

void setup_lint(CommandLine& app, int& exit_code);

}  // namespace angio::app
