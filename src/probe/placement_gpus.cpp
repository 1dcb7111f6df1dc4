#include "probe/placement_gpus.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "probe/nvml/gpu_list.hpp"
#include "probe/place.hpp"
#include "probe/sysfs/locality.hpp"
#include "probe/sysfs/pci_device.hpp"
#include "probe/sysfs/pci_tree.hpp"

namespace angio::probe {
namespace {

using model::GpuVendor;

constexpr const char* kDevices = "/sys/bus/pci/devices";
constexpr const char* kNvidia = "/proc/driver/nvidia/gpus";

struct Found {
  PciAddress address;
  GpuVendor vendor = GpuVendor::kUnknown;
};

std::vector<Found> addresses_in(const host::Root& root, const char* directory, GpuVendor vendor) {
  std::vector<Found> found;
  for (const std::string& name : root.list(directory).value_or(host::Names{})) {
    const auto address = parse_pci_address(name);
    if (address && found.size() < kMostGpus) found.push_back({*address, vendor});
  }
  return found;
}

// pci.ids, and linux/pci_ids.h: VGA 0x0300, 3D 0x0302, other display 0x0380, accelerator 0x1200.
GpuVendor vendor_of_display(const host::Root& root, const std::string& device) {
  const auto kind = root.read(device + "/class");
  const auto code = kind ? parse_integer<std::uint32_t>(trim(*kind), 16) : std::nullopt;
  if (!code) return GpuVendor::kUnknown;
  const std::uint32_t type = *code >> 8U;
  if (type != 0x0300 && type != 0x0302 && type != 0x0380 && type != 0x1200) return GpuVendor::kUnknown;
  const std::string vendor = root.read(device + "/vendor").value_or("");
  if (trim(vendor) == "0x10de") return GpuVendor::kNvidia;
  if (trim(vendor) == "0x1002") return GpuVendor::kAmd;
  return trim(vendor) == "0x8086" ? GpuVendor::kIntel : GpuVendor::kUnknown;
}

// "0018\t10de2330\t…": one file with the vendor of every device, where the kernel has it. It spares a read
// for each device of a machine without a GPU. Intel makes half of all other devices, so its GPUs count by
// driver.
bool may_have_gpu(const host::Root& root) {
  const auto text = root.read("/proc/bus/pci/devices");
  return !text || contains(*text, "\t10de") || contains(*text, "\t1002");
}

// Where no driver has GPUs: what PCI itself shows.
std::vector<Found> displays(const host::Root& root) {
  std::vector<Found> found;
  if (!may_have_gpu(root)) return found;
  for (const Found& device : addresses_in(root, kDevices, GpuVendor::kUnknown)) {
    const GpuVendor vendor = vendor_of_display(root, std::string(kDevices) + "/" + to_string(device.address));
    if (vendor != GpuVendor::kUnknown) found.push_back({device.address, vendor});
  }
  return found;
}

// The NVIDIA driver's own list holds, in a container, the GPUs that it was given; sysfs holds all.
std::vector<Found> find_gpus(const host::Root& root) {
  std::vector<Found> found = addresses_in(root, kNvidia, GpuVendor::kNvidia);
  if (found.empty()) found = addresses_in(root, "/sys/bus/pci/drivers/nvidia", GpuVendor::kNvidia);
  constexpr std::array<std::pair<const char*, GpuVendor>, 3> kDrivers{
      {{"amdgpu", GpuVendor::kAmd}, {"i915", GpuVendor::kIntel}, {"xe", GpuVendor::kIntel}}};
  for (const auto& [driver, vendor] : kDrivers) {
    const std::string directory = std::string("/sys/bus/pci/drivers/") + driver;
    for (const Found& gpu : addresses_in(root, directory.c_str(), vendor))
      found.push_back(gpu);
  }
  if (found.empty()) found = displays(root);
  std::ranges::sort(found, {}, &Found::address);
  return found;
}

// Adds the device and, where it does not know its node, the bridges above, for numa_of to walk up.
void add_pci_device(const host::Root& root, const PciAddress& address, std::vector<PciTreeInput>& positions,
                    model::Machine& machine) {
  constexpr int kDeepest = 32;  // bridges above one another; also ends the walk in a broken tree
  std::optional<PciAddress> at = address;
  for (int level = 0; at && level < kDeepest; ++level) {
    const bool seen = std::ranges::any_of(
        machine.pci.devices, [&](const model::PciDevice& device) { return device.address == *at; });
    if (seen) return;
    const Place place(root, machine, std::string(kDevices) + "/" + to_string(*at));
    model::PciDevice device;
    device.address = *at;
    read_identity(place, device);
    const host::Read<std::string> link = root.read_link(place.directory());
    positions.push_back({link ? parse_device_path(*link) : std::nullopt, std::nullopt});
    at = device.numa.is_known() || !positions.back().path ? std::nullopt : positions.back().path->parent;
    machine.pci.devices.push_back(std::move(device));
  }
}

void sort_devices(std::vector<PciTreeInput>& positions, model::Pci& pci) {
  std::vector<std::size_t> order(pci.devices.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return pci.devices[i].address; });
  std::vector<model::PciDevice> devices;
  std::vector<PciTreeInput> sorted;
  for (const std::size_t i : order) {
    devices.push_back(std::move(pci.devices[i]));
    sorted.push_back(std::move(positions[i]));
  }
  pci.devices = std::move(devices);
  positions = std::move(sorted);
}

void read_pci(const host::Root& root, const std::vector<Found>& gpus, model::Machine& machine) {
  std::vector<PciTreeInput> positions;
  for (const Found& gpu : gpus)
    add_pci_device(root, gpu.address, positions, machine);
  sort_devices(positions, machine.pci);
  build_pci_tree(positions, machine.pci);
}

std::optional<std::string> field_of(std::string_view information, std::string_view key) {
  for (const std::string_view line : split_lines(information)) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key)
      return std::string(trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

// A device cgroup (Slurm's ConstrainDevices, a container) leaves the node in /dev and refuses to open it.
bool may_open(const host::Root& root, const std::string& minor) {
  const auto access = root.read("/@access/dev/nvidia" + minor);
  return access ||
         (access.error().error != EPERM && access.error().error != EACCES && access.error().error != ENOENT);
}

// CUDA and NVML count from 0 over the GPUs that the process may open, by address.
void number_nvidia_gpus(const host::Root& root, bool uuids, model::Machine& machine) {
  std::vector<model::Gpu*> usable;
  for (model::Gpu& gpu : machine.gpus) {
    if (gpu.vendor != GpuVendor::kNvidia) continue;
    const Place place(root, machine, std::string(kNvidia) + "/" + to_string(*gpu.address.get()));
    const Observed<std::string> information = place.text("information");
    const std::string text = information.value_or("");
    const auto uuid = field_of(text, "GPU UUID");
    if (uuids && uuid && !contains(*uuid, "?"))
      gpu.uuid = Observed<std::string>::known(*uuid, information.source());
    const auto minor = field_of(text, "Device Minor");
    if (!minor || may_open(root, *minor)) usable.push_back(&gpu);
  }
  std::uint32_t number = 0;
  for (model::Gpu* gpu : usable)
    gpu->library_index = Observed<std::uint32_t>::known(number++, gpu->address.source());
}

void read_amd_uuids(const host::Root& root, model::Machine& machine) {
  for (model::Gpu& gpu : machine.gpus) {
    if (gpu.vendor != GpuVendor::kAmd) continue;
    gpu.uuid =
        Place(root, machine, std::string(kDevices) + "/" + to_string(*gpu.address.get())).text("unique_id");
  }
}

}  // namespace

void read_placement_gpus(const host::Root& root, bool uuids, model::Machine& machine) {
  const std::vector<Found> found = find_gpus(root);
  if (found.empty()) return;
  if (machine.pci.devices.empty()) read_pci(root, found, machine);
  for (const Found& each : found) {
    const Place place(root, machine, std::string(kDevices) + "/" + to_string(each.address));
    model::Gpu& gpu =
        gpu_at(machine, Observed<PciAddress>::known(each.address, place.source("")), each.vendor);
    gpu.index = static_cast<std::uint32_t>(machine.gpus.size() - 1);
    gpu.numa = numa_of(machine, gpu.pci);
  }
  number_nvidia_gpus(root, uuids, machine);
  if (uuids) read_amd_uuids(root, machine);
}

}  // namespace angio::probe
