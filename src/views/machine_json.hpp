// A machine as JSON for other programs: schema angio.topology/1. Every observed value is an object that
// says known, absent or unreadable, and where it was seen:
//   {"value": 512, "source": "/sys/…"}   {"absent": true, "source": "…"}   {"unreadable": "denied", "source":
//   "…"}
// Units stand in the key names (memory_bytes, speed_transfers_per_second).
#pragma once

#include "base/json.hpp"
#include "model/machine.hpp"

namespace angio::views {

Json machine_json(const model::Machine& machine);

}  // namespace angio::views
