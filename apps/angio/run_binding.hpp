// What the wrapper and the launcher of `angio run` share: one rank's variables, and binding with its words to
// the user. Not which rank, and not how the command is started.
#pragma once

#include <csignal>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "launch/environment.hpp"
#include "model/machine.hpp"
#include "model/placement.hpp"
#include "run_options.hpp"

namespace angio::app {

// While angio writes, a closed pipe is an error of the write; the command gets the disposition as it came.
class PipeSignalIgnored {
 public:
  PipeSignalIgnored();
  PipeSignalIgnored(const PipeSignalIgnored&) = delete;
  PipeSignalIgnored& operator=(const PipeSignalIgnored&) = delete;
  ~PipeSignalIgnored();

 private:
  struct sigaction before_{};
};

Result<std::vector<launch::VariableChange>> changes_for(const RunOptions& options,
                                                        const model::Machine& machine,
                                                        const model::RankPlacement& rank,
                                                        std::span<const std::string> environment);

// Binds the calling thread. Parts that fail are said, and are an error only with --strict; --verify says what
// holds.
Result<void> bind_rank(const RunOptions& options, const model::Machine& machine,
                       const model::RankPlacement& rank);

// --why, or else only what was replaced.
void tell_rank(const RunOptions& options, const model::RankPlacement& rank,
               const std::vector<launch::VariableChange>& changes);
void tell_notes(const std::vector<model::Note>& notes);

// True when running unbound is no answer: --strict, --memory bind (pages elsewhere are what it forbids),
// --devices own.
bool insists(const RunOptions& options);

std::vector<std::string> command_words(const RunOptions& options);

// "OMP_NUM_THREADS=12: one thread for each core …".
std::string change_words(const launch::VariableChange& change);

}  // namespace angio::app
