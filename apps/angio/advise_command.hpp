// angio advise: what to bind, what to set and what to leave alone for a job of a given shape.
#pragma once

namespace angio::app {

class CommandLine;

void setup_advise(CommandLine& app, int& exit_code);

}  // namespace angio::app
