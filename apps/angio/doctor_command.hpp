// `angio doctor`: every rule over this machine or over captured ones, and nodes compared. It only reads.
#pragma once

#include "command.hpp"

namespace angio::app {

void setup_doctor(CommandLine& app, int& exit_code);

}  // namespace angio::app
