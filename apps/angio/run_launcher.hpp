// The launcher forms of `angio run`: a group of ranks on this machine (--ranks), or a job over several nodes
// through srun or mpirun (--with), which start the wrapper form there. Not the wrapper itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run_options.hpp"

namespace angio::app {

class CommandLine;

struct LauncherOptions {
  std::optional<std::uint32_t> nodes;
  std::optional<std::uint32_t> node_rank;
  std::optional<std::string> with;  // "slurm", "mpi"
  std::optional<std::string> master;
  std::optional<std::string> hostfile;
  std::uint32_t gpus_per_node = 0;            // asked of Slurm
  std::vector<std::string> launcher_options;  // handed to srun or mpirun
  std::string output = "prefix";
  std::optional<std::string> output_directory;
  std::uint32_t grace = 30;  // seconds
};

void add_launcher_options(CommandLine& command, LauncherOptions& options);

// Not the wrapper form: --ranks without --rank, or an option that only a launcher has.
bool wants_launcher(const RunOptions& options, const LauncherOptions& launcher);

// The exit code of the group of ranks; with --with it becomes srun or mpirun.
int run_launched(const RunOptions& options, const LauncherOptions& launcher);

}  // namespace angio::app
