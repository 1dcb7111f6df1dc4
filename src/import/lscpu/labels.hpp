// What a label of lscpu means: "Thread(s) per core", "L1d cache" (or "L1d" below "Caches (sum of all)"),
// "NUMA node3 CPU(s)". Fills the machine; the table of `lscpu -p` is read elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "import/draft.hpp"

namespace angio::import::lscpu {

struct Label {
  std::string_view section;  // "NUMA", "Caches (sum of all)", "Vulnerabilities"; empty in old versions
  std::string_view name;
  std::string_view value;
  std::uint32_t line = 0;
};

// False when the label is neither kept nor known to be left out.
bool take_label(Draft& draft, const Label& label);
// Labels that no other tool prints; "Model" and "Flags" stand in many texts.
bool is_telling_label(std::string_view name);

}  // namespace angio::import::lscpu
