// How ranks are started: torchrun, accelerate, deepspeed, mpirun, srun, and whether they become one group.
#include "lint/rules/launch_rules.hpp"

namespace angio::lint {

void check_launch(const Input& input, Complaints& out) {
  const auto from = out.size();
  for (const auto& script : input.scripts) {
    const auto job = job_of(script);
    check_torch(job, out);
    check_rendezvous(job, input.context, out);
    check_groups(job, out);
    check_allocation(job, out);
    check_early(job, out);
    check_forwarding(job, out);
    check_mpirun(job, input.context, out);
    check_one_liners(job, out);
  }
  drop_repeats(out, from);
}

}  // namespace angio::lint
