// The devices of a machine as JSON: the parts of machine_json that list PCI functions, GPUs and NICs.
#pragma once

#include "base/json.hpp"
#include "model/machine.hpp"

namespace angio::views {

Json pci_json(const model::Machine& machine);
Json gpus_json(const model::Machine& machine);
Json rdma_json(const model::Machine& machine);
Json networks_json(const model::Machine& machine);

}  // namespace angio::views
