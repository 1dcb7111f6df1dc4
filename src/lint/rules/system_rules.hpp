// The parts of check_system. Not for other topics.
#pragma once

#include "lint/rules/launch_line.hpp"

namespace angio::lint {

void check_limits(const Job& job, Complaints& out);  // memlock, /dev/shm of containers
void check_network(const Job& job, const Context& context, Complaints& out);  // MTU, sysctl, QoS, switches
void check_host_changes(const Job& job, Complaints& out);                     // what changes the node for all
void check_stated_versions(const Job& job, Complaints& out);  // "CUDA 12.1, driver 515" in comments

}  // namespace angio::lint
