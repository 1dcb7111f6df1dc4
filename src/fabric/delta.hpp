// Two scans matched: nodes by GUID, those that were replaced by name and cables, ports by number, cables by
// both ends. What compare() words and what a plan is held against. Internal to src/fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabric/layout.hpp"

namespace angio::fabric {

enum class CableChange : std::uint8_t { kGone, kNew, kMoved, kSwapped };

// Ends as (node, port number); node indices of the later scan where has_now, else of the earlier one.
struct CableDelta {
  CableChange kind = CableChange::kGone;
  std::optional<model::PortRef> before_a = {}, before_b = {};  // in the earlier scan
  std::optional<model::PortRef> now_a = {}, now_b = {};        // in the later one
  std::optional<model::PortRef> other_a = {}, other_b = {};    // kSwapped: the second cable, in the later one
};

struct Delta {
  std::vector<std::uint32_t> now_of;     // by node of the earlier scan; kNone: gone
  std::vector<std::uint32_t> before_of;  // by node of the later scan; kNone: new
  std::vector<char> replaced;  // by node of the later scan: another device of the same name and cables
  std::vector<CableDelta> cables;
  std::uint32_t nodes_alike = 0;
  std::uint32_t links_alike = 0;
  // By node: gone (or new) together with this switch, the only way to it; kNone: on its own.
  std::vector<std::uint32_t> gone_with, new_with;
};

Delta match(const Layout& before, const Layout& now);
// Both captured, and the later one later.
std::optional<double> seconds_between(const model::Fabric& before, const model::Fabric& now);
std::optional<double> parse_instant(const std::string& text);  // RFC 3339, seconds since 1970

}  // namespace angio::fabric
