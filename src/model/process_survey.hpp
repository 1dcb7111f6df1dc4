// What a look over all processes shows besides the training processes themselves (those stand in
// machine.processes): what dead jobs left behind, who could not be looked at. Live only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/software.hpp"

namespace angio::model {

// A file of NCCL or PyTorch in /dev/shm.
struct SharedSegment {
  std::string name;  // "nccl-4f2a"
  Observed<Bytes> size;
  Observed<std::uint32_t> user;
  Observed<bool> used;  // some process maps it or has it open; unreadable: some could not be looked at
};

// The parent of a training process, when it is none itself.
struct ParentProcess {
  std::string name;         // "systemd", "torchrun"
  Observed<bool> has_rank;  // a rank variable in its own environment
};

struct ProcessSurvey {
  std::vector<Process> zombies;  // ended and not reaped: number, name and parent only
  std::vector<SharedSegment> segments;
  std::map<std::uint32_t, ParentProcess> parents;
  std::size_t looked_at = 0;
  std::size_t hidden = 0;  // of other users: what they are cannot be told
};

}  // namespace angio::model
