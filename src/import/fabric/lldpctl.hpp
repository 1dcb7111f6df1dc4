// What lldpctl -f json and -f json0 print of one host or of several one after another,
// in an array, or by host name in an object: hosts, switches and their ports by name. lldpctl does not say on
// which host it ran: that comes from `lldpcli show chassis` in front of it, a prompt or heading before it,
// the object's key, or the file's name. A chassis is one node by its MAC address, else by its name.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "import/fabric/fabric_draft.hpp"

namespace angio::import::fabric {

Result<model::Fabric> import_lldpctl(std::string_view text, const std::string& file, FabricDraft draft);

// The host in what stands before an output: "=== gpu-a ===", "root@gpu-a:~# lldpctl", "gpu-a | CHANGED". Else
// "".
std::string_view host_in_label(std::string_view label);

}  // namespace angio::import::fabric
