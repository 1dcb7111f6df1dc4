// The indented lines of `lspci -v` to `-vvv` below one device.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "import/draft.hpp"
#include "import/lines.hpp"

namespace angio::import::lspci {

// Which buses lie behind a bridge.
struct BusRange {
  std::uint8_t secondary = 0;
  std::uint8_t subordinate = 0;
};

struct Details {
  std::optional<BusRange> buses;
  bool verbose = false;  // any indented line was seen
  bool denied = false;   // "Capabilities: <access denied>"
  bool driver_told = false;
};

void take_detail(Draft& draft, const Line& line, model::PciDevice& device, Details& details);

}  // namespace angio::import::lspci
