// The children of this process, those included that it inherits when their parent dies, and their signals.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace angio::launch {

// From here on, orphans below us become our children instead of init's. Returns false where the kernel
// refuses.
bool adopt_orphans();

// Pids of the direct children, zombies included.
std::vector<int> list_children();
// /proc/PID/comm; empty when it is gone.
std::string name_of_process(int pid);

// It is on its way out: its files are closed, and it is no zombie yet (/proc/PID/stat, PF_EXITING).
bool is_exiting(int pid);

// The kernel writes a core file of it at the moment (/proc/PID/status, CoreDumping; since Linux 4.15).
bool is_dumping_core(int pid);

// The adopted children: all direct children except those that were there at the start and the ranks.
class Adopted {
 public:
  Adopted();
  // Reaps the dead ones and returns the living. known: pids of ranks not reaped yet.
  std::vector<int> living(const std::set<int>& known) const;

 private:
  std::set<int> before_;  // `exec angio run` in a script inherits the script's children
};

}  // namespace angio::launch
