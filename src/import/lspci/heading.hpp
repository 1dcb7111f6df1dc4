// The first line of a device: "1b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20b2] (rev a1)".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.hpp"

namespace angio::import::lspci {

struct Heading {
  PciAddress address;
  std::uint32_t class_code = 0;  // 24 bits; 0: only a word that is not known here
  bool class_known = false;
  std::uint16_t vendor = 0;  // 0: only a name that is not known here
  std::uint16_t device = 0;
  std::string_view name;  // "NVIDIA Corporation GA100"
};

std::optional<Heading> parse_heading(std::string_view line);

}  // namespace angio::import::lspci
