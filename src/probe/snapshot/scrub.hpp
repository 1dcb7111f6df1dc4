// A snapshot fit for strangers: serial numbers, GUIDs, UUIDs, MACs, host names, addresses, user names and
// home paths get stand-ins, the same one everywhere, in paths and contents alike. PCI addresses, versions,
// interface names and everything the topology is made of stay.
#pragma once

#include <cstdint>

#include "probe/snapshot/snapshot.hpp"

namespace angio::probe {

// seed decides the stand-ins of addresses and of the host's name; a random one keeps them from being undone.
Snapshot scrub(Snapshot snapshot, std::uint64_t seed);

}  // namespace angio::probe
