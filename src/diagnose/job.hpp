// What the processes of a job are to each other: ranks, their data loader workers, the shell in front of a
// rank, the launcher above; and what a thread is by its name. Pure: from machine.processes only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.hpp"

namespace angio::diagnose {

struct RankName {
  std::uint32_t number = 0;
  std::optional<std::uint32_t> local;
  std::string variable;  // "RANK", "SLURM_PROCID"
  bool operator==(const RankName&) const = default;
};

// By the launcher's variables, the most specific first; none: no rank.
std::optional<RankName> rank_of(const model::Process& process);

enum class Role : std::uint8_t {
  kRank,      // has a rank
  kProcess,   // trains or serves without one
  kWorker,    // child of one of these: data loader and the like
  kWrapper,   // a shell or profiler in front of a rank
  kLauncher,  // its children have ranks
};

struct JobMember {
  std::size_t process = 0;  // in machine.processes
  Role role = Role::kProcess;
  std::optional<RankName> rank;
  std::vector<std::size_t> workers;  // in machine.processes
};

// One for each process, ordered by rank, then number; workers stand below their rank and once on their own.
std::vector<JobMember> job_members(const model::Machine& machine);

// A context on GPU 0 besides its own GPU: every local rank but the first that forgets torch.cuda.set_device.
bool has_stray_context(const model::Process& process);

// "NCCL proxy", "CUDA events", "data loader"; empty when the name says nothing.
std::string_view thread_purpose(std::string_view name);

}  // namespace angio::diagnose
