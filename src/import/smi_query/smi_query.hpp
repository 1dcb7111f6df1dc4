// `nvidia-smi -q` to GPUs, driver versions and GPU processes. Fields are found by their path of headings
// ("PCI / GPU Link Info / Link Width / Current"), so order and driver version do not matter.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "import/draft.hpp"
#include "import/lines.hpp"

namespace angio::import::smi_query {

bool looks_like(const std::vector<Line>& lines);
Result<model::Machine> import_query(const std::vector<Line>& lines, Draft draft);

}  // namespace angio::import::smi_query
