// The IOMMU mode that GPUs and network cards see: from their groups' domain types, else from the
// kernel command line.
#pragma once

#include <string_view>

#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe {

// Needs machine.pci.devices.
Observed<model::IommuMode> read_iommu(const host::Root& root, model::Machine& machine);

// What the command line alone decides; none where it leaves the choice to the kernel's build.
std::optional<model::IommuMode> iommu_from_command_line(std::string_view command_line);

}  // namespace angio::probe
