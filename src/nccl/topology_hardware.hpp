// A topology file against the machine it is for: devices that are not there or missing, link speeds, NUMA
// nodes and CPU masks that differ, and what such a file does on bare metal, where NCCL detects all of it
// itself.
#pragma once

#include "model/machine.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::nccl {

// Judges only by what is known of the machine; says nothing about the rest.
void check_hardware(const Element& root, const model::Machine& machine, Remarks& remarks);

}  // namespace angio::nccl
