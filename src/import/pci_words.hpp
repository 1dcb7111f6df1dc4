// PCI words that several formats share: "0x030200", "32.0 GT/s PCIe", "10de:2330"; which class of which
// vendor is a GPU; and the order of devices, which the model wants by address.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "import/draft.hpp"

namespace angio::import {

// PCI code and ID assignment specification: class codes; pci.ids: vendors.
inline constexpr std::uint32_t kPciBridge = 0x060400;
inline constexpr std::uint16_t kNvidia = 0x10de;
inline constexpr std::uint16_t kAmd = 0x1002;
inline constexpr std::uint16_t kIntel = 0x8086;

// "32.0 GT/s PCIe", "16 GT/s", "5GT/s" per lane.
std::optional<TransfersPerSecond> parse_link_speed(std::string_view text);

bool is_gpu_class(std::uint32_t class_code, std::uint16_t vendor);
model::GpuVendor gpu_vendor(std::uint16_t vendor);

// Sorts devices, GPUs and the indices between them (parents, gpu.pci, rdma.pci, networks.pci).
void order_by_address(model::Machine& machine);

}  // namespace angio::import
