// One rank of `angio bench step --framework traffic`, in whatever program has the transport: angio itself
// (NCCL), angio-mpi, angio-gloo. Their hidden word `step-rank SPEC` comes here. Prints nothing.
#pragma once

#include <string>

#include "base/error.hpp"
#include "collective/meeting.hpp"
#include "collective/transport.hpp"

namespace angio::step {

inline constexpr const char* kWorkerWord = "step-rank";

// spec: what angio put behind the word (a JSON text, spec.hpp). Runs all steps and hands the times to rank 0,
// or writes them where the spec says. Collective over the ranks of both.
Result<void> run_step_rank(const std::string& spec, collective::Transport& transport,
                           collective::Meeting& meeting);

}  // namespace angio::step
