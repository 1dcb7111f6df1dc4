// JSON values in a text that holds several, with prompts and headings between them. A value that is cut off
// is read up to its last complete part. Used by the importers of Angio's own form and of lldpctl.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace angio::import::fabric {

struct JsonText {
  Json value;
  std::string_view before;  // what stands between the value before it and this one
  std::uint32_t line = 0;
  bool is_cut = false;  // its end is missing
  std::string problem;  // not JSON: why; value is null then
};
std::vector<JsonText> find_json(std::string_view text);

}  // namespace angio::import::fabric
