// Tells nodes of GPU, CXL and high-bandwidth memory from ordinary ones: they must not take host
// allocations unasked. Evidence only; a memory-only node of unknown make stays kMemoryOnly.
#pragma once

#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe {

// Needs machine.numa.nodes with CPUs, memory and access figures; sets the kind of each.
void tell_node_kinds(const host::Root& root, model::Machine& machine);

}  // namespace angio::probe
