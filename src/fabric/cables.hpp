// What each cable runs at against what both of its ends could: the verdict that several rules share. Internal
// to src/fabric.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/layout.hpp"

namespace angio::fabric {

enum class CableState : std::uint8_t {
  kFine,        // runs at what both ends can, or carries nothing
  kUnknown,     // an end does not say what it can
  kNarrow,      // fewer lanes than both ends can and allow
  kSlow,        // all lanes, a lower speed
  kRestricted,  // as allowed, and somebody allowed less than both ends can
  kAsBuilt,     // below what both ends can, as nearly every cable between the same kinds of ports
};

struct CableVerdict {
  CableState state = CableState::kUnknown;
  std::uint8_t lanes = 0;  // as it runs
  model::LaneSpeedName speed = model::LaneSpeedName::kUnknown;
  // That both ends can; for kNarrow and kSlow: and allow; for kRestricted: as ports like them are set.
  std::uint8_t could_lanes = 0;
  model::LaneSpeedName could_speed = model::LaneSpeedName::kUnknown;
  BitsPerSecond run;
  BitsPerSecond could;
};

std::vector<CableVerdict> judge_cables(const Layout& layout);

}  // namespace angio::fabric
