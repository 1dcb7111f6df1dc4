// When a text was written, from its own words, to RFC 3339 UTC.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace angio::import::fabric {

struct ScanTime {
  std::string utc;
  bool has_zone = false;
};
// "Tue Jun  5 14:15:10 2007" (ctime: no zone) or "2026-11-30T10:00:00Z".
std::optional<ScanTime> parse_scan_time(std::string_view text);

}  // namespace angio::import::fabric
