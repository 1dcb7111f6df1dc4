// Finds the training processes of a live machine and reads them for `angio ps`: a first pass that drops the
// others for two small files each, then threads, memory and open devices of those that are left. Reads in
// several threads. Not for snapshots: those hold what probe_processes asked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/root.hpp"
#include "model/machine.hpp"
#include "model/process_survey.hpp"

namespace angio::probe {

struct JobOptions {
  std::vector<std::uint32_t> named;   // only these and their children
  std::optional<std::uint32_t> user;  // only processes of this user, whatever they do
  bool all = false;                   // every process with memory, not only training
  bool threads = true;                // false: no look at single threads
  unsigned workers = 1;               // threads that read
};

// Fills machine.processes, by number. Needs GPUs, network, NUMA and CPUs. Root must allow reading from
// several threads if workers is above 1; host::make_task_root() below "/@tasks" is used where it is mounted.
model::ProcessSurvey probe_jobs(const host::Root& root, const JobOptions& options, model::Machine& machine);

// The variables that launchers set to a process's rank, the most specific first.
bool is_rank_variable(std::string_view name);

}  // namespace angio::probe
