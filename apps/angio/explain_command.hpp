// `angio explain`: what the doctor's rules look at and why.
#pragma once

#include "command.hpp"

namespace angio::app {

void setup_explain(CommandLine& app, int& exit_code);

}  // namespace angio::app
