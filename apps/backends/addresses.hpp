// Which address of this host others reach it at. For ranks that listen: angio-mpi's meeting, gloo's
// connections.
#pragma once

#include <string>

namespace angio::backend {

// The address from which this host reaches the other; empty: it cannot. Nothing is sent.
std::string address_towards(const std::string& other);
// One that other hosts can reach, as far as can be told from here: that of this host's name, else of the
// first interface that is up. Empty: there is only loopback.
std::string outward_address();
bool is_loopback(const std::string& address);
std::string host_name();
// A TCP port that nobody listens on at the moment; 0: none.
int free_port();

}  // namespace angio::backend
