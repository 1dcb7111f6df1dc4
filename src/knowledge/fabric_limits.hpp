// What is known of InfiniBand links for judging counters: error ratios by speed, and what one tick of
// PortXmitWait is worth on a switch chip. Lookups over data/fabric.toml.
#pragma once

#include <cstdint>
#include <string_view>

namespace angio::knowledge {

// Errors that are left after correction, a bit received. Up to `normal` a link is as it should be; from
// `limit` on it is bad.
struct LinkErrorLimit {
  std::string_view speed;  // "HDR"
  double normal;
  double limit;
  std::string_view source;
};
const LinkErrorLimit* find_link_errors(std::string_view speed);

// Bytes that could have been sent in one tick of PortXmitWait.
struct WaitTick {
  std::uint32_t device;  // PCI device id of the switch chip
  std::string_view name;
  std::uint32_t bytes;
  bool per_lane;
  std::string_view source;
};
const WaitTick* find_wait_tick(std::uint32_t device);

}  // namespace angio::knowledge
