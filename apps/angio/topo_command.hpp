// angio topo: one machine's hardware map as text, JSON, picture or page; or what differs between two.
#pragma once

namespace angio::app {

class CommandLine;

void setup_topo(CommandLine& app, int& exit_code);

}  // namespace angio::app
