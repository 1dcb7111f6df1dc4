// The text of ibnetdiscover (also --full, --grouping and ibdiagnet2.ibnetdiscover), ibsim's net files, and
// the port list of ibnetdiscover --ports. Lines are recognised by their middle, so that log prefixes in front
// of them do no harm. GUIDs come from the node ids; a net file of ibsim that names none gets the GUIDs that
// ibsim gives. Knows the output of infiniband-diags from 2007 on, and MLNX_OFED's, which adds "e=".
#pragma once

#include <string_view>
#include <vector>

#include "import/fabric/fabric_draft.hpp"
#include "import/lines.hpp"

namespace angio::import::fabric {

bool is_ibnetdiscover_line(std::string_view text);
bool is_port_list_line(std::string_view text);

Result<model::Fabric> import_ibnetdiscover(const std::vector<Line>& lines, FabricDraft draft);

}  // namespace angio::import::fabric
