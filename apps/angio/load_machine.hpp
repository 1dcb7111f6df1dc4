// One machine from whatever the user names: this host, a snapshot, a captured directory tree, or text of
// another tool. Shared by the commands that look at machines.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/machine.hpp"

namespace angio::app {

// path: "" this host; "-" standard input; a directory: a captured root with /sys and /proc in it;
// a file: a snapshot, or foreign text whose kind is recognised. Errors name the path.
Result<model::Machine> load_machine(const std::string& path);

// By its first line; not of standard input, which can be read only once.
bool is_snapshot_file(const std::string& path);

// Reads logs of the job that ran there and of its kernel; what they tell of memory and of NCCL goes into the
// machine. Several files are one job.
Result<void> add_logs(const std::vector<std::string>& files, model::Machine& machine);

}  // namespace angio::app
