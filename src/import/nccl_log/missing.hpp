// Which facts a log could not tell because NCCL was not asked to print them, and what to set so that it does.
// A fact that is missing because it never happened (no failure, no collective) is not in the list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/nccl_log.hpp"

namespace angio::import::nccl_log {

enum class MissingFact : std::uint8_t {
  kEverything,   // no INFO line at all: NCCL_DEBUG=INFO
  kIdentity,     // ranks, GPUs, communicators: subsystem INIT
  kNetwork,      // which network and devices: INIT, NET
  kEnvironment,  // the settings that NCCL took: ENV
  kGraph,        // topology, patterns, rings and trees: GRAPH
  kConnections,  // ways between pairs: P2P, SHM, NET through INIT
  kTuning,       // the table and the choice per size: TUNING
  kCollectives,  // every call: COLL (one line a call: large)
  kTimestamps,   // which rank failed first: NCCL_DEBUG_TIMESTAMP_LEVELS, 2.26+
  kOtherRanks,   // files of the other ranks
};

struct Missing {
  MissingFact fact = MissingFact::kEverything;
  std::string what;    // "the algorithm that NCCL chose for each size"
  std::string remedy;  // "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING"
};

std::vector<Missing> missing_facts(const model::NcclLog& log);

}  // namespace angio::import::nccl_log
