// Fills machine.rdma_host: interrupts, PCIe ordering and forced traffic classes of RDMA devices, the kernel's
// settings of their interfaces, sysctls of the network, file systems over the network. After probe_network.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "host/root.hpp"
#include "model/machine.hpp"
#include "model/rdma_host.hpp"

namespace angio::probe {

void probe_rdma_host(const host::Root& root, model::Machine& machine);

// "Global tclass=106" of mlx5's tc/1/traffic_class; a bare number also.
std::optional<std::uint32_t> parse_traffic_class(std::string_view text);
// The lines of mountinfo whose file system comes over the network; place: of the sources.
std::vector<model::NetworkMount> parse_network_mounts(std::string_view mountinfo, std::uint32_t place);

}  // namespace angio::probe
