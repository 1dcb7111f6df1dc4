// What nvbandwidth prints, as text or with -j as JSON: one run or many in a text, with other things around
// them. The text never fails: what is damaged is left out of the matrix.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/nvbandwidth.hpp"

namespace angio::import::nvbandwidth {

bool looks_like(std::string_view bytes);
std::vector<model::NvbandwidthRun> parse(std::string_view bytes);

bool looks_like_json(std::string_view bytes);
Result<model::NvbandwidthRun> parse_json_run(std::string_view bytes, const std::string& name);

}  // namespace angio::import::nvbandwidth
