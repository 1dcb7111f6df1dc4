// What the records of NCCL's Inspector add up to: one line a communicator, operation and size, however many
// records there were. Aggregates only; single records are not kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/observed.hpp"

namespace angio::model {

struct InspectorAggregate {
  std::string communicator;  // its id
  std::string name;          // comm_name; may be empty
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  std::string operation;  // "AllReduce", "Send"
  bool point_to_point = false;
  Bytes bucket;  // sizes from here to below twice this
  std::uint64_t records = 0;
  double time_us = 0;  // sum of execution times
  double slowest_us = 0;
  std::uint32_t slowest_rank = 0;
  Source slowest;
  double bus = 0;               // sum of bus bandwidths, bytes per second
  BytesPerSecond least;         // lowest bus bandwidth
  BytesPerSecond highest;       // highest
  std::uint64_t cpu_timed = 0;  // records whose time is the CPU's, not the kernel's
};

struct InspectorSummary {
  std::string format_version;
  std::vector<std::string> hosts;
  std::vector<InspectorAggregate> aggregates;  // by communicator, operation, size
  std::uint64_t records = 0;
  std::uint64_t damaged = 0;
  std::uint64_t left_out = 0;  // records of a communicator beyond the most that are kept apart
  Source first_damaged;
  Source source;
};

}  // namespace angio::model
