// One run of training steps from its start to its figures: a private folder, the ranks started (torchrun,
// angio's own supervisor, mpirun, or this process is one rank of a launcher's), their logs read, nothing left
// behind. Not who may call what (apps) and not how it looks (views). From the main thread, one at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/step_run.hpp"
#include "step/spec.hpp"

namespace angio::step {

enum class Starter : std::uint8_t {
  kTorchrun,
  kAngio,  // each rank a child of this process
  kMpirun,
  kAround,  // a launcher has started this process as one rank
};

struct RunRequest {
  StepSpec spec;  // folder and shared are filled in here
  Starter starter = Starter::kAngio;
  std::string python;                              // of PyTorch; empty: traffic without it
  std::vector<std::string> rank_program;           // traffic: a program and its words before the spec
  std::vector<std::string> environment;            // "NAME=value", for the ranks
  std::function<void(const std::string&)> notify;  // what happens to ranks meanwhile; may be empty
};

struct RunOutcome {
  std::optional<model::StepRun> run;  // none: another rank of the launcher has it
  int signal = 0;                     // that ended it early; the run has the steps before
};

// Errors name the rank that failed and its last words.
Result<RunOutcome> run_steps(const RunRequest& request);

}  // namespace angio::step
