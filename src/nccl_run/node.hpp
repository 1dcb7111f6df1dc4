// The process of one phantom node: loads libnccl, makes the communicators of its ranks, enqueues the script's
// operations, and reports. Runs in a process of its own that run_cluster started; ends by _exit, for NCCL's
// threads would outlive static destructors.
#pragma once

namespace angio::nccl_run {

// script_fd: one JSON line, then (nodes but 0) the id's line. report_fd: reports. Never returns to normal
// life: the exit code is 0 when everything was enqueued.
int run_node(int script_fd, int report_fd);

}  // namespace angio::nccl_run
