#include "probe/nvml/gpu_probe.hpp"

#include <algorithm>
#include <string>

#include "probe/amd/amd_gpus.hpp"
#include "probe/nvml/gpu_list.hpp"
#include "probe/nvml/nvidia_gpus.hpp"
#include "probe/place.hpp"
#include "probe/sysfs/locality.hpp"

namespace angio::probe {
namespace {

// A vendor is one file behind these two functions. Intel's GPUs are known from PCI alone so far.
struct Vendor {
  void (*add)(const host::Root&, model::Machine&);
  void (*describe)(const host::Root&, model::Machine&);
};
constexpr Vendor kVendors[] = {
    {add_nvidia_gpus, describe_nvidia_gpus},
    {add_amd_gpus, describe_amd_gpus},
};

model::GpuVendor vendor_of(const model::PciDevice& device) {
  switch (device.vendor) {  // pci.ids
    case 0x10de:
      return model::GpuVendor::kNvidia;
    case 0x1002:
      return model::GpuVendor::kAmd;
    case 0x8086:
      return model::GpuVendor::kIntel;
    default:
      return model::GpuVendor::kUnknown;  // ASPEED, Matrox: the console of a management controller
  }
}

// linux/pci_ids.h: VGA 0x0300, 3D 0x0302, other display 0x0380 (AMD Instinct), accelerator 0x1200.
bool is_gpu(const model::PciDevice& device) {
  const std::uint32_t kind = device.class_code >> 8U;
  const bool display = kind == 0x0300 || kind == 0x0302 || kind == 0x0380 || kind == 0x1200;
  return display && vendor_of(device) != model::GpuVendor::kUnknown;
}

void add_pci_gpus(const host::Root& root, model::Machine& machine) {
  for (const model::PciDevice& device : machine.pci.devices) {
    if (!is_gpu(device)) continue;
    if (!has_room_for_gpu(machine)) return;
    const Place place(root, machine, "/sys/bus/pci/devices/" + to_string(device.address));
    gpu_at(machine, Observed<PciAddress>::known(device.address, place.source("")), vendor_of(device));
  }
}

// GPUs without an address come last, in the order in which they were found.
void order_by_address(std::vector<model::Gpu>& gpus) {
  std::uint32_t found = 0;
  for (model::Gpu& gpu : gpus)
    gpu.index = found++;
  std::ranges::sort(gpus, [](const model::Gpu& a, const model::Gpu& b) {
    const PciAddress* left = a.address.get();
    const PciAddress* right = b.address.get();
    if (left != nullptr && right != nullptr && *left != *right) return *left < *right;
    if ((left != nullptr) != (right != nullptr)) return left != nullptr;
    return a.index < b.index;
  });
  for (std::size_t i = 0; i < gpus.size(); ++i)
    gpus[i].index = static_cast<std::uint32_t>(i);
}

// PCI first, as NCCL does; a vendor library's word only where the PCI tree has none.
void locate(const model::Machine& machine, model::Gpu& gpu) {
  const Observed<NumaId> from_pci = numa_of(machine, gpu.pci);
  if (from_pci.is_known() || !gpu.numa.is_known()) gpu.numa = gpu.pci ? from_pci : gpu.numa;
}

}  // namespace

bool has_room_for_gpu(model::Machine& machine, std::size_t others) {
  if (machine.gpus.size() + others < kMostGpus) return true;
  constexpr const char* kId = "gpu.too-many";
  if (std::ranges::find(machine.notes, kId, &model::Note::id) == machine.notes.end()) {
    machine.notes.push_back(
        {kId, "more than " + std::to_string(kMostGpus) + " GPUs, which no node has; the rest is left out", 1,
         "check that the source is of one node"});
  }
  return false;
}

model::Gpu& gpu_at(model::Machine& machine, const Observed<PciAddress>& address, model::GpuVendor vendor) {
  const PciAddress* at = address.get();
  if (at != nullptr) {
    const auto found =
        std::ranges::find_if(machine.gpus, [&](const model::Gpu& gpu) { return gpu.address.is(*at); });
    if (found != machine.gpus.end()) return *found;
  }
  model::Gpu& gpu = machine.gpus.emplace_back();
  gpu.vendor = vendor;
  gpu.address = address;
  if (at != nullptr) gpu.pci = machine.pci.find(*at);
  return gpu;
}

void probe_gpus(const host::Root& root, model::Machine& machine) {
  add_pci_gpus(root, machine);
  for (const Vendor& vendor : kVendors)
    vendor.add(root, machine);
  order_by_address(machine.gpus);
  for (const Vendor& vendor : kVendors)
    vendor.describe(root, machine);
  for (model::Gpu& gpu : machine.gpus)
    locate(machine, gpu);
}

}  // namespace angio::probe
