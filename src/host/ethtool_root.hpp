// The statistics of network drivers as files, mounted at "/@ethtool":
//
//   eth0/stats   a line each: "rx_prio3_pause: 17"
//
// No file of the kernel says them; the SIOCETHTOOL ioctl does, without privilege. Counters of single rings
// (rx12_packets) are left out: a driver has thousands, and their sums are there.
#pragma once

#include <memory>
#include <string_view>

#include "host/root.hpp"

namespace angio::host {

std::unique_ptr<Root> make_ethtool_root();

// "rx12_packets", "tx-3.bytes", "rx_queue_0_drops", "[2]: rx_discards", "ch7_poll": of one ring or queue.
bool is_of_one_ring(std::string_view name);

}  // namespace angio::host
