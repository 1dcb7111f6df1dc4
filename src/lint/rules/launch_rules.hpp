// The parts of check_launch. Not for other topics.
#pragma once

#include "lint/rules/launch_line.hpp"

namespace angio::lint {

void check_torch(const Job& job, Complaints& out);  // one launcher's own options
void check_rendezvous(const Job& job, const Context& context, Complaints& out);
void check_groups(const Job& job, Complaints& out);      // launchers of one file against each other
void check_allocation(const Job& job, Complaints& out);  // against #SBATCH and srun
void check_early(const Job& job, Complaints& out);       // what the batch shell reads and expands itself
void check_forwarding(const Job& job, Complaints& out);  // variables that do not reach the ranks
void check_mpirun(const Job& job, const Context& context, Complaints& out);
void check_one_liners(const Job& job, Complaints& out);  // python -c, broken continuations

// Nodes of a launcher where they are written: "2", "1:4" has none.
std::optional<long> nodes_of(const Line& line, const Stage& launcher);
bool is_this_host(std::string_view address);  // localhost, 127.0.0.1, with a port or without

}  // namespace angio::lint
