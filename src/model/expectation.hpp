// What a collective should take on given hardware, with an interval and the part that limits it. Values only:
// cost makes them, judge and the benchmarks hold measurements against them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/nccl_tests.hpp"

namespace angio::model {

// One question: this collective, this size, on so many ranks.
struct CollectiveCase {
  NcclCollective collective = NcclCollective::kAllReduce;
  Bytes size;  // as nccl-tests counts
  std::uint32_t nodes = 1;
  std::uint32_t ranks = 1;  // of all nodes
};

enum class ExpectationBasis : std::uint8_t {
  kFitted,   // constants fitted on measurements of this platform; the interval is theirs
  kDerived,  // from link data and constants of other platforms: the interval is wider
  kBound,    // only the wire is known: no less time than this, nothing is called low by it
};

struct Expectation {
  CollectiveCase of;
  ExpectationBasis basis = ExpectationBasis::kDerived;
  double time_us = 0;
  double least_us = 0;      // quicker is impossible or a wrong formula
  double most_us = 0;       // slower is low
  BytesPerSecond bus;       // of time_us
  BytesPerSecond bus_low;   // of most_us: below it is low
  BytesPerSecond bus_high;  // of least_us: above it is impossible
  std::string algorithm;    // "NVLS", "Ring", "Tree"; empty: not told apart
  std::string protocol;     // "LL128"
  std::string limit;        // "NVLink of each GPU: 18 links x 25 GB/s", "latency of 62 ring steps"
  std::vector<std::string> assumptions;  // whole sentences
};

}  // namespace angio::model
