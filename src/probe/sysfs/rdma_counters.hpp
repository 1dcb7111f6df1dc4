// Only what RDMA ports count, and the little that is needed to make sense of it (state, rate, interfaces,
// moment): a reading that can be repeated every second. Everything else about the ports is probe_network's.
#pragma once

#include <functional>
#include <string>

#include "host/root.hpp"
#include "model/rdma_rates.hpp"

namespace angio::probe {

// wanted: asked for each port before it is read; empty: all. host, origin and captured are the caller's.
using WantedPort = std::function<bool(const std::string& device, std::uint32_t port)>;
model::RdmaReading read_rdma_counters(const host::Root& root, const WantedPort& wanted = {});

}  // namespace angio::probe
