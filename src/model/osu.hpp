// One table of the OSU micro-benchmarks, whatever MPI they ran over: what was measured, and the rows as
// printed. OSU's "MB/s" is 10^6 bytes a second. Not a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/nccl_tests.hpp"

namespace angio::model {

enum class OsuMeasure : std::uint8_t {
  kUnknown,
  kLatency,        // half a round trip between two ranks
  kBandwidth,      // one direction
  kBidirectional,  // the sum of both directions
  kMessageRate,    // the sum of all pairs
  kCollective,     // time of one call
};

struct OsuRow {
  Bytes size;  // as OSU counts: of one message, or of the buffer of a rank
  std::optional<double> average_us, minimum_us, maximum_us;
  std::optional<BytesPerSecond> rate;
  std::optional<double> messages_per_second;
  std::optional<std::uint64_t> iterations;
  std::optional<bool> valid;  // the column "Validation"
  std::uint32_t line = 0;
};

struct OsuTable {
  std::string title;    // "MPI-CUDA Allreduce Latency Test"
  std::string version;  // "7.5"
  std::string program;  // "osu_allreduce"; of the title where no command names it
  std::string library;  // "MPI", "MPI-CUDA", "NCCL-CUDA", "MPI-ROCM", "UPC"
  OsuMeasure measure = OsuMeasure::kUnknown;
  NcclCollective collective = NcclCollective::kUnknown;  // of kCollective
  bool vector = false;                                   // Allgatherv, Alltoallv …
  bool device = false;                                   // buffers in GPU memory
  bool managed = false;                                  // CUDA managed memory
  std::string datatype;                                  // "MPI_CHAR"; empty: not said
  std::optional<std::uint32_t> pairs, window;
  std::optional<std::uint32_t> ranks;     // of the command line in the text
  std::optional<std::uint32_t> per_node;  // the same
  std::string mpi;                        // "MVAPICH2 2.3.7", "Open MPI": where a line says so
  std::vector<OsuRow> rows;
  std::uint32_t damaged_rows = 0;
  std::uint32_t line = 0;  // of its title
};

}  // namespace angio::model
