// angio tune: runs a campaign of settings against a baseline and says which one is proven better.
#pragma once

namespace angio::app {

class CommandLine;

void setup_tune(CommandLine& app, int& exit_code);

}  // namespace angio::app
