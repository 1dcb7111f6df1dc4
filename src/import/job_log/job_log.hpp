// Logs of jobs and of the kernel to the facts about memory in them: dmesg, PyTorch, NCCL, Slurm, containers.
// Line by line, so a cut or mixed file gives what it holds. Not a reader of NCCL's decisions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "import/draft.hpp"
#include "import/lines.hpp"
#include "model/machine.hpp"

namespace angio::import::job_log {

// True when at least one line speaks of memory that could not be had.
bool looks_like(const std::vector<Line>& lines);

model::Machine import_log(const std::vector<Line>& lines, const std::string& name, Draft draft);

// Reads a log that belongs to a machine already known. Nothing is added for a log without such lines.
void add_log(std::string_view bytes, const std::string& name, model::Machine& machine);

}  // namespace angio::import::job_log
