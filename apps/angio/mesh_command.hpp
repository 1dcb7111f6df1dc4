// `angio mesh`: tests between every pair of hosts, `show` of a kept result, `judge` of texts of perftest. Not
// the agent on the hosts (mesh_node.hpp).
#pragma once

namespace angio::app {

class CommandLine;
void setup_mesh(CommandLine& app, int& exit_code);

}  // namespace angio::app
