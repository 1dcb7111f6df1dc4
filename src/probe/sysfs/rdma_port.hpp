// One port of an RDMA device as /sys/class/infiniband and /@verbs tell it. Part of probe_network.
// Files after linux Documentation/ABI/stable/sysfs-class-infiniband.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "model/machine.hpp"
#include "probe/place.hpp"

namespace angio::probe {

// "400 Gb/sec (4X NDR)"; older kernels name no speed for SDR: "10 Gb/sec (4X)".
struct PortRate {
  BitsPerSecond rate;
  std::uint32_t lanes = 0;
  std::string speed_name;  // may be empty
};
std::optional<PortRate> parse_port_rate(std::string_view text);

// "4: ACTIVE" → "ACTIVE".
std::optional<std::string> parse_numbered_word(std::string_view text);

// device is "/sys/class/infiniband/mlx5_0".
model::RdmaPort read_rdma_port(const Place& device, model::Machine& machine, const std::string& device_name,
                               std::uint32_t number);

}  // namespace angio::probe
