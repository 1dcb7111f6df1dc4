// angio profile: what the profiler plugin recorded, merged over ranks.
#pragma once

namespace angio::app {

class CommandLine;

void setup_profile(CommandLine& app, int& exit_code);

}  // namespace angio::app
