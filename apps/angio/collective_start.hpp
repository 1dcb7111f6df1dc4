// Starts the ranks of a benchmark of collectives on one back end and takes rank 0's result: through `angio
// run`, mpirun or srun, or as the one rank that this process is below a launcher. Not what is shown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bench/interrupts.hpp"
#include "collective/backends.hpp"
#include "collective/wish.hpp"
#include "model/collective_run.hpp"

namespace angio::app {

struct CollectiveStart {
  collective::Wish wish;
  std::uint32_t ranks = 1;  // of a node
  std::uint32_t nodes = 1;
  std::string with = "local";                 // "slurm", "mpi"
  std::vector<std::string> run_options;       // for angio run
  std::vector<std::string> launcher_options;  // for srun or mpirun
  std::optional<std::string> hostfile;
  bool inside = false;   // a launcher started this process as a rank
  std::string phantom;   // topology of GPUs that are not there; empty: real ones
  bool watched = false;  // a terminal shows the progress
};

struct CollectiveOutcome {
  std::optional<model::CollectiveRun> run;  // none: this is not rank 0
  std::string said;                         // on standard error, while all went well
  int signal = 0;                           // that the user sent
};

// Whether a launcher started this process as one of several ranks.
bool is_rank_of_launcher(const std::vector<std::string>& environment);

// Errors: the program of the back end is not there, the ranks could not be started, or failed: then with
// their last words.
Result<CollectiveOutcome> run_backend(const CollectiveStart& start, collective::Backend backend,
                                      const bench::Interrupts& interrupts,
                                      const std::function<void(const std::string& what)>& progress);

// The program that runs now, by a name that stays valid.
std::string own_program_path();

}  // namespace angio::app
