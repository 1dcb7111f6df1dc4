// The parts of check_placement, one a tool. Not for other topics.
#pragma once

#include "lint/rules/launch_line.hpp"

namespace angio::lint {

void check_numactl(const Job& job, const Context& context, Complaints& out);
void check_cpu_lists(const Job& job, const Context& context, Complaints& out);  // taskset, docker, Python
void check_srun_binding(const Job& job, const Context& context, Complaints& out);
void check_mpirun_binding(const Job& job, Complaints& out);
void check_threads(const Job& job, const Context& context, Complaints& out);  // OMP, KMP, GOMP

// Tasks on each node that this srun starts, where the numbers are written.
std::optional<long> tasks_per_node(const Job& job, const Line* line, const Stage* srun);
// Words of the option as a reader finds them: "--membind=0,1".
std::string shown(const Option& option);
Complaint with_severity(Complaint complaint, model::Severity severity);

}  // namespace angio::lint
