// The addresses of this machine's network interfaces as a file, mounted at "/@net":
//
//   addresses   a line each: "eth0 10.0.0.5/24", "eth0 fe80::1/64"; by interface, then address
//
// The kernel has no file that says this for IPv4; getifaddrs asks it.
#pragma once

#include <memory>

#include "host/root.hpp"

namespace angio::host {

std::unique_ptr<Root> make_addresses_root();

}  // namespace angio::host
