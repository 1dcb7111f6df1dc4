// angio rdma: what RDMA ports carried and counted in an interval, and what that says.
#pragma once

namespace angio::app {

class CommandLine;

void setup_rdma(CommandLine& app, int& exit_code);

}  // namespace angio::app
