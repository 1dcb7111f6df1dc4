// angio ps: which training processes run here, whether each is where its GPU is, and what dead ones left.
#pragma once

namespace angio::app {

class CommandLine;

void setup_ps(CommandLine& app, int& exit_code);

}  // namespace angio::app
