// GPUs that a dry run can place where a topology file leaves them to NVML: the words of --gpu. Table
// [[phantom_gpu]] of data/. Lookups only; what such a GPU has by design is find_gpu() of its product, its
// compute capability capability_of().
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace angio::knowledge {

// NVLinks from one GPU to another, numbered in the order of bus ids.
struct PhantomWire {
  std::uint32_t first;
  std::uint32_t second;
  std::uint32_t links;
};

struct PhantomGpu {
  std::string_view name;                   // "h100-sxm"
  std::string_view product;                // as NVML prints it
  std::uint32_t memory_gb;                 // as its datasheet counts
  bool multicast;                          // NVLS works between GPUs of this model on one NVSwitch
  std::span<const std::uint32_t> devices;  // PCI device ids of vendor 0x10de
  std::span<const PhantomWire> wires;      // empty: a switch, bridges or nothing
  std::string_view source;
};

std::span<const PhantomGpu> phantom_gpus();  // by name
const PhantomGpu* find_phantom_gpu(std::string_view name);
const PhantomGpu* find_phantom_gpu_of(std::uint32_t pci_device);

}  // namespace angio::knowledge
