// A rank on a GPU that is not there: this process becomes itself anew, with the stand-ins of `angio dryrun`
// preloaded. Each rank is the first GPU of a phantom node of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace angio::app {

struct PhantomRank {
  std::string topology;       // of a node: file or words, as angio dryrun takes it
  std::string shared_folder;  // for what NCCL would put into /dev/shm
  std::string nccl;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
};
// Returns only when it failed. argv: the words of the hidden command.
Error become_phantom(const PhantomRank& rank, const std::vector<std::string>& environment, char** argv);

}  // namespace angio::app
