// The contract of a lint rule: one function per topic adds complaints over everything read. Its words
// (summary, severity, sources) are data in data/lint/<topic>.toml; the sentence about this case is made here.
#pragma once

#include <functional>
#include <vector>

#include "lint/lint.hpp"

namespace angio::lint {

struct Input {
  const std::vector<Script>& scripts;
  const Context& context;
};
using Complaints = std::vector<Complaint>;

// Severity comes from the rule's data. script names the file, place the words.
Complaint complain(std::string_view rule, const Script& script, const Place& place, std::string message,
                   std::string advice = {});

// rules/: each looks at one topic.
void check_values(const Input& input, Complaints& out);   // names, types, words, versions, ranges
void check_meaning(const Input& input, Complaints& out);  // dangerous, contradictory, without effect, devices
void check_placement(const Input& input,
                     Complaints& out);  // numactl, taskset, sched_setaffinity, srun and mpirun binding
void check_launch(const Input& input, Complaints& out);  // torchrun, mpirun, srun, rendezvous, process groups
void check_tools(const Input& input, Complaints& out);   // commands that do not exist or do something else
void check_system(const Input& input, Complaints& out);  // MTU, ulimit, shm, DCGM fields, drivers, privileged

// Processes or files of one job against each other: variables that must be equal on all ranks.
void check_uniform(const std::vector<Script>& scripts, Complaints& out);

}  // namespace angio::lint
