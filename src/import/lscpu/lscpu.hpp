// `lscpu` (English labels, old and new util-linux, also -J) and the table of `lscpu -p`, which may stand
// below it, to CPUs, packages, cores, caches and NUMA nodes.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "import/draft.hpp"
#include "import/lines.hpp"

namespace angio::import::lscpu {

bool looks_like(const std::vector<Line>& lines);
bool looks_like_json(std::string_view text);
Result<model::Machine> import_lscpu(const std::vector<Line>& lines, std::string_view text, Draft draft);

}  // namespace angio::import::lscpu
