// What one line of a log says about memory. Used by job_log.cpp only.
#pragma once

#include <optional>
#include <string_view>

#include "model/job.hpp"

namespace angio::import::job_log {

// None for a line that says nothing of the kind. text and source are left to the caller.
std::optional<model::MemoryEvent> parse_memory_line(std::string_view line);

// True for a line of a traceback or warning that names page-locked memory: it decides what a bare
// "CUDA error: out of memory" near it means.
bool speaks_of_pinning(std::string_view line);

}  // namespace angio::import::job_log
