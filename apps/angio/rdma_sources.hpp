// Where readings of RDMA ports come from: this host, a snapshot, a captured directory tree. And which ports
// --device names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "host/root.hpp"
#include "model/machine.hpp"
#include "model/rdma_rates.hpp"
#include "probe/sysfs/rdma_counters.hpp"

namespace angio::app {

// "mlx5_0" or "mlx5_0:1".
Result<probe::WantedPort> parse_devices(const std::vector<std::string>& devices);
// An error unless each name is one of the reading's ports; says which there are.
Result<void> check_devices(const std::vector<std::string>& devices, const model::RdmaReading& all);

// The files that a reading of this host needs, and no library: quick to make.
Result<std::unique_ptr<host::Root>> open_counters_root();
model::RdmaReading read_this_host(const host::Root& root, const probe::WantedPort& wanted);

struct Captured {
  model::RdmaReading reading;
  model::Machine machine;
};
Result<Captured> read_captured(const std::string& path);

}  // namespace angio::app
