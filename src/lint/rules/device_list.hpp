// Lists of devices as NCCL_IB_HCA and NCCL_SOCKET_IFNAME take them: [^][=]name[:port…],… where a name is a
// prefix unless '=' stands in front. Parsing and matching only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace angio::lint {

struct DeviceEntry {
  std::string_view name;
  std::optional<std::uint32_t> port;
};

struct DeviceList {
  bool excluded = false;
  bool exact = false;
  std::vector<DeviceEntry> entries;

  bool names(const DeviceEntry& entry, std::string_view device) const {
    return exact ? entry.name == device : device.starts_with(entry.name);
  }
};

bool is_family(std::string_view name);  // "mlx5": a driver, not one device
DeviceList parse_devices(std::string_view value);
// A name that could be the beginning of another one by number: "mlx5_1", "eth1", but not "mlx5_0" or "mlx5".
bool may_be_prefix(std::string_view name);
// Ends in a number: one device rather than the beginning of several.
bool may_be_device(std::string_view name);

}  // namespace angio::lint
