// What `angio bench collective` measured, whatever library moved the data: the ranks, each size with its
// times, bandwidths and check of the data, how long the start took. Values only: collective makes them, judge
// holds them against an expectation, views show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/nccl_tests.hpp"

namespace angio::model {

// An iteration that took far longer than its neighbours.
struct CollectiveOutlier {
  std::uint32_t iteration = 0;
  std::uint32_t rank = 0;  // whose clock showed it most
  double time_us = 0;
};

// One collective at one size, out of place or in place.
struct CollectiveRow {
  NcclCollective collective = NcclCollective::kUnknown;
  Bytes size;               // as nccl-tests counts: the larger of the send and the receive buffer of a rank
  std::uint64_t count = 0;  // elements, as nccl-tests prints
  std::string type;         // "float"
  std::string reduction;    // "sum"; empty: none
  bool in_place = false;
  std::uint32_t warm_up = 0;
  std::uint32_t iterations = 0;
  double time_us = 0;  // mean of an iteration of the batch, over ranks: what nccl-tests prints
  double minimum_us = 0, median_us = 0, p95_us = 0, p99_us = 0, maximum_us = 0;  // of single iterations
  BytesPerSecond algorithm;
  BytesPerSecond bus;
  std::optional<std::uint64_t> wrong;  // elements; none: not checked
  std::vector<CollectiveOutlier> outliers;
  std::optional<std::uint32_t> root;  // none: it has none
};

struct CollectiveRank {
  std::uint32_t rank = 0;
  std::uint32_t local_rank = 0;
  std::string host;
  std::uint64_t pid = 0;
  std::string device;   // "NVIDIA H100 80GB HBM3"; empty: host memory
  std::string address;  // "0000:1b:00.0"; empty: host memory
  std::string cpus;     // that it may use: "0-13,112-125"
  double init_seconds = 0;
};

// One GPU to one other, one direction (R23); a row and a column a rank.
struct CollectivePair {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  BytesPerSecond rate;
  double latency_us = 0;
};

struct CollectiveRun {
  std::string backend;  // "nccl", "mpi", "gloo"
  std::string version;  // "2.28.9+cuda13.0", "Open MPI 4.1.4"
  std::string library;  // path
  std::string started;  // RFC 3339, UTC
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  std::vector<CollectiveRank> members;  // by rank
  std::vector<CollectiveRow> rows;      // as they ran
  std::vector<CollectivePair> pairs;
  // Start-up (R88): from the first process to the first finished collective.
  double launch_seconds = 0;  // until the slowest rank was there
  double init_seconds = 0;    // communicator, slowest rank
  double first_seconds = 0;   // first collective, slowest rank: connections are made then
  bool phantom = false;       // GPUs that are not there: times mean nothing
  std::vector<std::string> notes;
  bool interrupted = false;  // what is there was finished before
};

}  // namespace angio::model
