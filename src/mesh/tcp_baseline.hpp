// The TCP baseline: Angio's own sender and receiver, several streams in one direction, or a ping-pong. Runs
// one side of one test to its end; CPU time is that of its own threads. Counts payload at the receiving side.
#pragma once

#include <functional>

#include "mesh/messages.hpp"
#include "mesh/sockets.hpp"

namespace angio::mesh {

// stop: asked ten times a second. A connection that does not show the order's ticket is dropped.
Outcome run_tcp_listener(const Order& order, const Listener& listener, const std::function<bool()>& stop);
Outcome run_tcp_sender(const Order& order, const std::function<bool()>& stop);

}  // namespace angio::mesh
