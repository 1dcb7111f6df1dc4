// The time at which something was read, as a file, mounted at "/@clock": any path below it answers
//
//   "REALTIME BOOTTIME"   nanoseconds since 1970 (UTC) and since the machine started
//
// A probe that reads "/@clock/mlx5_0/1" beside the counters of that port has the moment recorded with them,
// so that two snapshots know the time between two readings of one port. BOOTTIME does not jump when the clock
// is set; the two together show a restart.
#pragma once

#include <memory>

#include "host/root.hpp"

namespace angio::host {

std::unique_ptr<Root> make_clock_root();

}  // namespace angio::host
