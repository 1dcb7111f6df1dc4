// angio fabric: scan an InfiniBand subnet, show what a fabric looks like and what is wrong with it, compare
// two scans, write it in the forms of other tools.
#pragma once

namespace angio::app {

class CommandLine;

void setup_fabric(CommandLine& app, int& exit_code);

}  // namespace angio::app
