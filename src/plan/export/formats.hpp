// The formats of export.hpp, one function each. Not for use outside this folder.
#pragma once

#include "model/machine.hpp"
#include "model/placement.hpp"
#include "plan/export/export.hpp"

namespace angio::plan {

Export export_numactl(const model::Machine& machine, const model::Placement& placement);
Export export_taskset(const model::Machine& machine, const model::Placement& placement);
Export export_environment(const model::Machine& machine, const model::Placement& placement);
Export export_slurm(const model::Machine& machine, const model::Placement& placement);
Export export_rankfile(const model::Machine& machine, const model::Placement& placement);
Export export_torchrun(const model::Machine& machine, const model::Placement& placement);
Export export_systemd(const model::Machine& machine, const model::Placement& placement);
Export export_kubernetes(const model::Machine& machine, const model::Placement& placement);

}  // namespace angio::plan
