// Where processes and their memory go: what numactl, taskset, srun, mpirun, containers and OpenMP are told.
#include "lint/rules/placement_rules.hpp"

namespace angio::lint {

std::string shown(const Option& option) {
  if (option.value.empty()) return option.name;
  const bool letter = !option.name.starts_with("--");
  return option.name + (letter ? " " : "=") + option.value;
}

Complaint with_severity(Complaint complaint, model::Severity severity) {
  complaint.severity = severity;
  return complaint;
}

void check_placement(const Input& input, Complaints& out) {
  const auto from = out.size();
  for (const auto& script : input.scripts) {
    const auto job = job_of(script);
    check_numactl(job, input.context, out);
    check_cpu_lists(job, input.context, out);
    check_srun_binding(job, input.context, out);
    check_mpirun_binding(job, out);
    check_threads(job, input.context, out);
  }
  drop_repeats(out, from);
}

}  // namespace angio::lint
