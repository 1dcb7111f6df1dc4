// The text of ibqueryerrors: counters above thresholds by port, with --details, --data, --counters and
// --report-port. It has no cables but those of --report-port: it is made to be laid over a topology. A
// counter that is not named was at or below its threshold: unknown, not zero. Sums ("port ALL") are left out.
// Knows the output of infiniband-diags of rdma-core, and the older names of counters.
#pragma once

#include <string_view>
#include <vector>

#include "import/fabric/fabric_draft.hpp"
#include "import/lines.hpp"

namespace angio::import::fabric {

bool is_ibqueryerrors_line(std::string_view text);
Result<model::Fabric> import_ibqueryerrors(const std::vector<Line>& lines, FabricDraft draft);

}  // namespace angio::import::fabric
