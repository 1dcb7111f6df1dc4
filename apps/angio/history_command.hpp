// angio history: keeps results and says what is another than before, and since when.
#pragma once

namespace angio::app {

class CommandLine;

void setup_history(CommandLine& app, int& exit_code);

}  // namespace angio::app
