#include "knowledge/phantom_gpus.hpp"

#include <algorithm>
#include <array>

namespace angio::knowledge {
namespace {

#include "phantom_tables.inc"

}  // namespace

std::span<const PhantomGpu> phantom_gpus() {
  return kPhantomGpus;
}

const PhantomGpu* find_phantom_gpu(std::string_view name) {
  const auto found = std::ranges::find(phantom_gpus(), name, &PhantomGpu::name);
  return found == phantom_gpus().end() ? nullptr : &*found;
}

const PhantomGpu* find_phantom_gpu_of(std::uint32_t pci_device) {
  const auto has = [&](const PhantomGpu& each) {
    return std::ranges::find(each.devices, pci_device) != each.devices.end();
  };
  const auto found = std::ranges::find_if(phantom_gpus(), has);
  return found == phantom_gpus().end() ? nullptr : &*found;
}

}  // namespace angio::knowledge
