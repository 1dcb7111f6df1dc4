// The picture of a machine: nested boxes for packages and NUMA nodes, PCIe switches as bars, GPUs and
// NICs hanging off them, NVLinks below the GPUs, the NICs' ports at the bottom edge. Degraded things
// are red and dashed, unknown ones grey, healthy ones quiet.
#pragma once

#include <cstdint>

#include "model/machine.hpp"
#include "report/document.hpp"
#include "views/topology_outline.hpp"

namespace angio::views {

// kNone: on a page that has the machine's name and counts already.
enum class PictureHeading : std::uint8_t { kNone, kNameAndCounts };

report::Drawing topology_picture(const model::Machine& machine, const Outline& outline,
                                 PictureHeading heading);

}  // namespace angio::views
