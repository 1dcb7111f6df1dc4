// The text of perfquery: the counters of a port, or of several (-l, or several runs in one file). It names
// ports by LID: it is made to be laid over a topology. PortCounters stop at the top of their width, the
// extended ones
// (-x) have 64 bits. Sums of all ports (-a, port 255) are left out.
//   # Port extended counters: Lid 134 port 1 (CapMask: 0x5A00 CapMask2: 0x0000000)
//   PortXmitData:....................9049592493976
#pragma once

#include <string_view>
#include <vector>

#include "import/fabric/fabric_draft.hpp"
#include "import/lines.hpp"

namespace angio::import::fabric {

bool is_perfquery_line(std::string_view text);
Result<model::Fabric> import_perfquery(const std::vector<Line>& lines, FabricDraft draft);

}  // namespace angio::import::fabric
