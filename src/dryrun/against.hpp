// What the log of a real job shows beside what the same NCCL would do on healthy hardware: findings where the
// job has less. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "model/dryrun.hpp"
#include "model/finding.hpp"

namespace angio::dryrun {

// healthy: a dry run of the hardware as it should be, with the job's shape and settings. A difference that
// the job's own settings explain is said as such, not as a fault. No finding: the two agree in everything
// both show. What the job's log does not show is undecided, with what to log; another version of NCCL, or
// another number of ranks or nodes, makes a difference undecided instead of a finding. Rules of data/rules
// whose id begins with "dryrun.".
model::Diagnosis judge_against(const model::DryRun& healthy, const model::NcclEvidence& job);

// The machines of a job by its log, for a dry run of the same shape. NCCL's own count of nodes is another: it
// follows from who reaches whom without a network. None: the log does not tell all ranks' machines.
struct JobShape {
  std::uint32_t nodes = 1;
  std::uint32_t ranks = 0;  // on each node; 0: not the same on all
};
std::optional<JobShape> shape_of(const model::NcclLog& log);

}  // namespace angio::dryrun
