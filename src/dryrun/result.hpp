// From how a phantom cluster ended and what it printed to one model::DryRun. Pure but for reading the log,
// which is fed as it comes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "model/dryrun.hpp"
#include "nccl_run/cluster.hpp"

namespace angio::dryrun {

// Takes NCCL's log while it is written and keeps facts only. The lines of all nodes are one file in the order
// in which they come, as a job's log is: node processes differ by their pid, and the places of facts are
// lines of that file, should the caller write it too.
class LogTaker {
 public:
  explicit LogTaker(const std::string& name = "NCCL's log");
  ~LogTaker();
  LogTaker(LogTaker&&) noexcept;
  LogTaker& operator=(LogTaker&&) noexcept;
  void feed(std::uint32_t node, std::string_view lines);  // whole lines

 private:
  friend model::DryRun make_result(const nccl_run::ClusterRequest&, const nccl_run::ClusterOutcome&,
                                   LogTaker);
  struct State;
  std::unique_ptr<State> state_;
};

// Joins each operation with the choice NCCL printed for it (by node 0's marks), kernels, estimates and
// memory. label, topology and notes are the caller's.
model::DryRun make_result(const nccl_run::ClusterRequest& request, const nccl_run::ClusterOutcome& outcome,
                          LogTaker log);

}  // namespace angio::dryrun
