#include "probe/process/job_devices.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "probe/process/process_parts.hpp"

namespace angio::probe::process {
namespace {

std::optional<std::uint32_t> gpu_at(const model::Machine& machine, std::string_view address) {
  const auto wanted = parse_pci_address(address);
  if (!wanted) return std::nullopt;
  for (const model::Gpu& gpu : machine.gpus) {
    if (gpu.address.is(*wanted)) return gpu.index;
  }
  return std::nullopt;
}

// "Device Minor: 	 3" of /proc/driver/nvidia/gpus/<address>/information.
std::optional<std::uint32_t> minor_of(std::string_view information) {
  const auto value = status_field(information, "Device Minor");
  return value ? parse_integer<std::uint32_t>(*value) : std::nullopt;
}

void find_nvidia(const host::Root& root, const model::Machine& machine, DeviceFiles& files) {
  const std::string drivers = "/proc/driver/nvidia/gpus";
  for (const std::string& address : root.list(drivers).value_or(host::Names{})) {
    const auto gpu = gpu_at(machine, address);
    const auto minor = minor_of(root.read(drivers + "/" + address + "/information").value_or(""));
    if (gpu && minor) files.gpus.emplace("/dev/nvidia" + std::to_string(*minor), *gpu);
  }
}

// Render nodes: the driver of AMD and Intel GPUs opens one for each GPU it uses.
void find_render_nodes(const host::Root& root, const model::Machine& machine, DeviceFiles& files) {
  const std::string directory = "/sys/class/drm";
  for (const std::string& name : root.list(directory).value_or(host::Names{})) {
    if (!name.starts_with("renderD")) continue;
    const std::string target = root.read_link(directory + "/" + name + "/device").value_or("");
    if (const auto gpu = gpu_at(machine, target.substr(target.rfind('/') + 1)))
      files.gpus.emplace("/dev/dri/" + name, *gpu);
  }
}

void find_verbs(const host::Root& root, const model::Machine& machine, DeviceFiles& files) {
  const std::string directory = "/sys/class/infiniband_verbs";
  for (const std::string& name : root.list(directory).value_or(host::Names{})) {
    const std::string text = root.read(directory + "/" + name + "/ibdev").value_or("");
    const auto device = std::ranges::find(machine.rdma, trim(text), &model::RdmaDevice::name);
    if (device == machine.rdma.end()) continue;
    files.rdma.emplace("/dev/infiniband/" + name, static_cast<std::uint32_t>(device - machine.rdma.begin()));
  }
}

}  // namespace

DeviceFiles find_device_files(const host::Root& root, const model::Machine& machine) {
  DeviceFiles files;
  find_nvidia(root, machine, files);
  find_render_nodes(root, machine, files);
  find_verbs(root, machine, files);
  files.listening = parse_listening(root.read("/proc/net/tcp").value_or(""));
  files.listening.merge(parse_listening(root.read("/proc/net/tcp6").value_or("")));
  return files;
}

}  // namespace angio::probe::process
