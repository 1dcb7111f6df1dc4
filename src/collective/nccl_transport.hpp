// The transport over NCCL, which is loaded by its path; nothing of NVIDIA's is needed to build. On GPUs
// through the CUDA driver; on the phantom GPUs of `angio dryrun` (their stand-in is preloaded then) no data
// moves and no time means anything, but the whole path is walked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collective/meeting.hpp"
#include "collective/transport.hpp"

namespace angio::collective {

struct NcclPlace {
  std::string library;           // "", a library, a folder or "pid:N": nccl_run/find_nccl.hpp
  std::uint32_t local_rank = 0;  // its GPU, unless CUDA shows this process only one
  std::vector<std::string> environment;
};

// Errors say what is missing: the library, the driver, a GPU for this rank; NCCL's own words.
Result<std::unique_ptr<Transport>> make_nccl_transport(const NcclPlace& place, Meeting& meeting);

}  // namespace angio::collective
