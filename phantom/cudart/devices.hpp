// What a phantom GPU answers about itself, for the runtime's calls and the driver's.
#pragma once

#include <optional>

#include "phantom/hardware.hpp"

namespace angio::phantom {

struct PciPlace {
  unsigned domain;
  unsigned bus;
  unsigned device;
  bool operator==(const PciPlace&) const = default;
};
PciPlace pci_place(const Gpu& gpu);

// attribute: cuda::Attribute, or any other number, whose answer is 0.
int device_attribute(int attribute, const Gpu& gpu);

bool can_access_peer(const Gpu& from, const Gpu& to);

}  // namespace angio::phantom
