#include "import/pci_words.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/text.hpp"

namespace angio::import {
namespace {

using Indices = std::vector<std::uint32_t>;

void renumber(std::optional<std::uint32_t>& index, const Indices& new_place) {
  if (index) index = *index < new_place.size() ? std::optional(new_place[*index]) : std::nullopt;
}

void order_devices(model::Machine& machine) {
  auto& devices = machine.pci.devices;
  Indices order(devices.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return devices[i].address; });
  Indices new_place(devices.size());
  std::vector<model::PciDevice> sorted;
  sorted.reserve(devices.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    new_place[order[i]] = i;
    sorted.push_back(std::move(devices[order[i]]));
  }
  devices = std::move(sorted);
  for (model::PciDevice& device : devices)
    renumber(device.parent, new_place);
  for (model::Gpu& gpu : machine.gpus)
    renumber(gpu.pci, new_place);
  for (model::RdmaDevice& device : machine.rdma)
    renumber(device.pci, new_place);
  for (model::NetDevice& device : machine.networks)
    renumber(device.pci, new_place);
}

}  // namespace

std::optional<TransfersPerSecond> parse_link_speed(std::string_view text) {
  const std::size_t unit = text.find("GT/s");
  if (unit == std::string_view::npos) return std::nullopt;
  const auto number = parse_double(trim(text.substr(0, unit)));
  if (!number || *number <= 0 || *number > 1000) return std::nullopt;
  return TransfersPerSecond{*number * 1e9};
}

bool is_gpu_class(std::uint32_t class_code, std::uint16_t vendor) {
  const std::uint32_t subclass = class_code >> 8U;
  const bool compute =
      subclass == 0x0302 || subclass == 0x0380 || subclass == 0x1200;  // 3D, display, accelerator
  if (vendor == kNvidia) return subclass == 0x0300 || subclass == 0x0302;
  return compute && (vendor == kAmd || vendor == kIntel);  // 0300 of these is often the console's VGA
}

model::GpuVendor gpu_vendor(std::uint16_t vendor) {
  if (vendor == kNvidia) return model::GpuVendor::kNvidia;
  if (vendor == kAmd) return model::GpuVendor::kAmd;
  return vendor == kIntel ? model::GpuVendor::kIntel : model::GpuVendor::kUnknown;
}

void order_by_address(model::Machine& machine) {
  order_devices(machine);
  const auto address = [](const model::Gpu& gpu) {
    return std::pair(!gpu.address.is_known(), gpu.address.value_or({}));
  };
  std::ranges::stable_sort(machine.gpus, {}, address);
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i)
    machine.gpus[i].index = i;
}

}  // namespace angio::import
