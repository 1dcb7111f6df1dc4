// What files do to the system around a job: limits, shared memory, MTU, drivers, and claims about versions.
#include "lint/rules/system_rules.hpp"

namespace angio::lint {

void check_system(const Input& input, Complaints& out) {
  const auto from = out.size();
  for (const auto& script : input.scripts) {
    const auto job = job_of(script);
    check_limits(job, out);
    check_network(job, input.context, out);
    check_host_changes(job, out);
    check_stated_versions(job, out);
  }
  drop_repeats(out, from);
}

}  // namespace angio::lint
