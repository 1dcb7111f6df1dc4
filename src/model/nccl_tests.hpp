// One table of nccl-tests (or rccl-tests), from its text or its JSON file: what ran, on which devices, each
// row's times and bandwidths. Values as printed; what the reader checked stands beside them. Not a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/observed.hpp"

namespace angio::model {

enum class NcclCollective : std::uint8_t {
  kUnknown,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kScatter,
  kGather,
  kBroadcast,
  kReduce,
  kSendRecv,
  kHyperCube,
  kAllToAllV,
};

// Half a row: out of place or in place.
struct NcclTestsTiming {
  double time_us = 0;
  BytesPerSecond algorithm;            // "algbw", as printed
  BytesPerSecond bus;                  // "busbw", as printed
  std::optional<std::uint64_t> wrong;  // none: not validated ("N/A")
  std::optional<double> deviation;     // the old last column "error" (until 2.11)
};

struct NcclTestsRow {
  Bytes size;
  std::uint64_t count = 0;  // elements
  std::string type;
  std::string reduction;             // empty: none
  std::optional<std::int64_t> root;  // none: no such column; -1: not rooted
  std::optional<NcclTestsTiming> out_of_place;
  std::optional<NcclTestsTiming> in_place;
  Source source;
  std::string doubt;  // why the row does not fit itself or its neighbours; empty: it does
};

struct NcclTestsDevice {
  std::uint32_t rank = 0;
  std::uint32_t group = 0;
  std::uint64_t pid = 0;
  std::string host;
  std::uint32_t device = 0;
  std::string address;  // "0000:1b:00", "0x1b": as printed
  std::string name;
};

struct NcclTestsError {
  std::string text;  // printable
  Source source;
};

struct NcclTestsTable {
  std::string program;  // "all_reduce_perf"; empty: the text does not say
  NcclCollective collective = NcclCollective::kUnknown;
  bool inferred = false;  // the collective follows from busbw / algbw, no line names it
  bool json = false;
  std::string version;          // of nccl-tests
  std::string library_version;  // of NCCL, "2.29.2"; empty: not said
  std::optional<std::uint32_t> threads;
  std::optional<std::uint32_t> gpus_per_thread;
  std::optional<Bytes> minimum;
  std::optional<Bytes> maximum;
  std::string step;  // "2(factor)"
  std::optional<std::uint32_t> warmup;
  std::optional<std::uint32_t> iterations;
  std::optional<bool> validated;
  bool cpu_time = false;                 // -C: the times are the CPU's, not those of the operation
  std::vector<NcclTestsDevice> devices;  // as listed; a shortened text lists fewer than ran
  std::vector<NcclTestsRow> rows;
  std::optional<std::uint64_t> out_of_bounds;
  std::optional<BytesPerSecond> average;  // "Avg bus bandwidth": over all sizes
  std::optional<bool> average_okay;       // against NCCL_TESTS_MIN_BW
  std::vector<NcclTestsError> errors;
  std::uint32_t damaged_rows = 0;
  Source source;          // its first line
  Source average_source;  // of the line with the average
};

// Ranks that took part, as far as the list of devices says; 0: no list.
std::uint32_t ranks_of(const NcclTestsTable& table);
std::vector<std::string> hosts_of(const NcclTestsTable& table);  // in the order of their first rank

// busbw = algbw x factor, a fact of the collective and the number of ranks; none when either is unknown.
// nccl-tests doc/PERFORMANCE.md.
std::optional<double> bus_factor(NcclCollective collective, std::uint32_t ranks);

// The row with the highest bus bandwidth and that value, over both halves; null for a table without rows.
struct NcclTestsPeak {
  const NcclTestsRow* row = nullptr;
  BytesPerSecond bus;
};
NcclTestsPeak peak_of(const NcclTestsTable& table);

const char* name_of(NcclCollective collective);  // "AllReduce"; "an unnamed collective"

}  // namespace angio::model
