// Scans the subnets that this host's InfiniBand ports are on. Shows how far it is where somebody watches, and
// keeps what is there when it is stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/fabric.hpp"

namespace angio::app {

struct FabricScanOptions {
  std::string from;  // "mlx5_0:1"; empty: the first active port
  bool all_ports = false;
  std::uint32_t in_flight = 64;
  bool no_counters = false;
  std::uint32_t timeout_ms = 200;
  std::uint32_t limit_s = 600;
};

struct FabricScan {
  model::Fabric fabric;
  bool stopped = false;  // by a signal: not whole
  std::vector<std::string> remarks;
  std::string cost;  // "8512 questions in 0.9 s, 3 asked again, 1 without an answer"
};

Result<FabricScan> scan_subnets(const FabricScanOptions& options);

}  // namespace angio::app
