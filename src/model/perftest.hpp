// What one run of a program of perftest (ib_write_bw, ib_read_lat …) printed: settings, rows in exact units,
// errors. Values as printed; perftest's "MB/sec" is 2^20 bytes a second. Not a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace angio::model {

enum class PerftestSide : std::uint8_t { kUnknown, kServer, kClient };

struct PerftestRow {
  Bytes size;
  std::uint64_t iterations = 0;
  std::optional<BitsPerSecond> peak;  // none: not measured ("0.00")
  std::optional<BitsPerSecond> average;
  std::optional<double> messages_per_second;
  std::optional<double> cpu_percent;
  std::optional<double> minimum_us, maximum_us, typical_us, average_us, deviation_us;
  std::optional<double> percentile_99_us, percentile_999_us;
  std::optional<double> transactions_per_second;
  std::uint32_t line = 0;
  std::string doubt;  // bandwidth, size and message rate do not fit each other
};

struct PerftestRun {
  std::string title;    // "RDMA_Write BW Test"
  std::string program;  // "ib_write_bw", from the title
  bool latency = false;
  bool bidirectional = false;
  bool binary_megabytes = false;  // the table was in MB/sec or MiB/sec
  PerftestSide side = PerftestSide::kUnknown;
  bool two_sides = false;  // server and client wrote into one text
  std::string device;
  std::string transport;   // "IB"
  std::string connection;  // "RC"
  std::string link_layer;  // "IB", "Ethernet"
  std::optional<std::uint32_t> queue_pairs;
  std::optional<std::uint32_t> gid_index;
  std::optional<Bytes> mtu;   // of the path
  std::string local, remote;  // "LID 0x12 QPN 0x0137", "GID ::ffff:10.0.0.1": addresses as printed
  std::vector<PerftestRow> rows;
  std::vector<std::string> errors;  // printable, in their order
  std::uint32_t damaged_rows = 0;
  std::uint32_t line = 0;  // its first
};

}  // namespace angio::model
