// Names of a directory that are numbers: "0", "1", "10", "2" in text order, 0 1 2 10 as the probes need them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/text.hpp"
#include "host/root.hpp"

namespace angio::probe {

// Ascending; names that are no numbers are left out.
inline std::vector<std::uint32_t> numbers_of(const host::Names& names) {
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = parse_integer<std::uint32_t>(name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace angio::probe
