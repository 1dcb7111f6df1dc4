// `angio ps` as JSON: schema angio.processes/1. Observed values as in machine_json.hpp, sizes in bytes.
#pragma once

#include "base/json.hpp"
#include "views/process_view.hpp"

namespace angio::views {

Json process_json(const ProcessReport& report);

}  // namespace angio::views
