// The communicator of a log that stands for the job: the one that views, comparisons and findings are about.
#pragma once

#include <cstdint>

#include "model/nccl_log.hpp"

namespace angio::model {

// The communicator with the most ranks; of equal ones a whole one before one that was split off another, then
// that whose log tells most. Null: none.
const NcclCommunicator* world_of(const NcclLog& log);
// The same among those of exactly so many ranks.
const NcclCommunicator* world_of(const NcclLog& log, std::uint32_t ranks);

}  // namespace angio::model
