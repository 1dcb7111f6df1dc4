#include "probe/nvml/nvml_leaves.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "probe/nvml/nvml_device_leaves.hpp"

namespace angio::probe::nvml {
namespace {

using Parts = std::vector<std::string_view>;

std::unexpected<host::ReadError> no_such_file() {
  return std::unexpected(host::ReadError{ENOENT, {}});
}

Parts parts_of(std::string_view path) {
  Parts parts = split(path, '/');
  std::erase_if(parts, [](std::string_view part) { return part.empty(); });
  return parts;
}

host::Read<std::string> system_text(const Calls& calls, const char* symbol) {
  std::array<char, 128> buffer{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80
  const auto size = static_cast<unsigned>(buffer.size() - 1);
  return answered(calls.call<SystemText>(symbol, buffer.data(), size),
                  [&] { return std::string(buffer.data()); });
}

host::Read<std::string> cuda_version(const Calls& calls) {
  int version = 0;
  return answered(calls.call<SystemNumber>("nvmlSystemGetCudaDriverVersion_v2", &version),
                  [&] { return std::to_string(version); });
}

// "/gpu/2/…": the device and the words after it.
struct DevicePath {
  unsigned index = 0;
  Device device = nullptr;
  Parts rest;
};

host::Read<DevicePath> resolve(const Calls& calls, const Parts& parts) {
  const std::optional<unsigned> index = parse_integer<unsigned>(parts[1]);
  if (parts[0] != "gpu" || !index) return no_such_file();
  return answered(calls.device(*index), [&](Device device) {
    return DevicePath{*index, device, Parts(parts.begin() + 2, parts.end())};
  });
}

host::Read<std::string> read_peer(const Calls& calls, const DevicePath& path) {
  const std::optional<unsigned> other = parse_integer<unsigned>(path.rest[1]);
  if (!other || *other == path.index) return no_such_file();
  const host::Read<Device> peer = calls.device(*other);
  if (!peer) return std::unexpected(peer.error());
  unsigned status = 0;
  return answered(calls.call<DevicePeer>("nvmlDeviceGetP2PStatus", path.device, *peer, kP2pRead, &status),
                  [&] { return std::to_string(status); });
}

host::Read<std::string> read_device(const Calls& calls, const DevicePath& path) {
  const Parts& rest = path.rest;
  if (rest.size() == 3 && rest[0] == "link") {
    const std::optional<unsigned> link = parse_integer<unsigned>(rest[1]);
    if (!link || *link >= kMaxLinks) return no_such_file();
    return read_link_leaf(calls, path.device, *link, rest[2]);
  }
  if (rest.size() == 2 && rest[0] == "p2p") return read_peer(calls, path);
  if (rest.empty() || rest.size() > 2) return no_such_file();
  const std::string leaf =
      rest.size() == 1 ? std::string(rest[0]) : std::string(rest[0]).append("/").append(rest[1]);
  return read_device_leaf(calls, path.device, leaf);
}

host::Names numbers_below(unsigned count, std::optional<unsigned> without) {
  host::Names names;
  for (unsigned index = 0; index < count; ++index) {
    if (index != without) names.push_back(std::to_string(index));
  }
  std::ranges::sort(names);
  return names;
}

// The first words of the leaves, and the second words of those below `directory`.
host::Names device_names(std::string_view directory) {
  host::Names names;
  for (const std::string& leaf : device_leaf_names()) {
    const Parts parts = split(leaf, '/');
    if (directory.empty()) names.emplace_back(parts[0]);
    if (!directory.empty() && parts.size() == 2 && parts[0] == directory) names.emplace_back(parts[1]);
  }
  if (directory.empty()) names.insert(names.end(), {"link", "p2p"});
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

host::Read<host::Names> list_device(const Calls& calls, const DevicePath& path) {
  const Parts& rest = path.rest;
  if (rest.empty()) return device_names({});
  if (rest[0] == "link" && rest.size() == 1) return link_numbers(calls, path.device);
  if (rest[0] == "link" && rest.size() == 2) return link_leaf_names();
  if (rest.size() != 1) return no_such_file();
  if (rest[0] == "p2p") {
    return answered(calls.device_count(), [&](unsigned count) { return numbers_below(count, path.index); });
  }
  host::Names names = device_names(rest[0]);
  if (names.empty()) return no_such_file();
  return names;
}

}  // namespace

host::Read<std::string> read_leaf(const Calls& calls, std::string_view path) {
  const Parts parts = parts_of(path);
  if (parts.size() == 1) {
    if (parts[0] == "driver_version") return system_text(calls, "nvmlSystemGetDriverVersion");
    if (parts[0] == "nvml_version") return system_text(calls, "nvmlSystemGetNVMLVersion");
    if (parts[0] == "cuda_driver_version") return cuda_version(calls);
  }
  if (parts.size() < 3) return no_such_file();
  const host::Read<DevicePath> device = resolve(calls, parts);
  if (!device) return std::unexpected(device.error());
  return read_device(calls, *device);
}

host::Read<host::Names> list_directory(const Calls& calls, std::string_view path) {
  const Parts parts = parts_of(path);
  if (parts.empty())
    return host::Names{"cuda_driver_version", "driver_version", "gpu", "init", "nvml_version"};
  if (parts.size() == 1) {
    if (parts[0] != "gpu") return no_such_file();
    return answered(calls.device_count(), [](unsigned count) { return numbers_below(count, std::nullopt); });
  }
  const host::Read<DevicePath> device = resolve(calls, parts);
  if (!device) return std::unexpected(device.error());
  return list_device(calls, *device);
}

}  // namespace angio::probe::nvml
