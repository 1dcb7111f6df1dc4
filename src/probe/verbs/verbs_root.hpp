// libibverbs as a directory tree, mounted at "/@verbs": what sysfs does not tell about an RDMA port.
//
//   init                    "0"; ENOENT: no library
//   DEVICE/PORT/active_mtu  the RDMA path MTU in bytes, as the port runs now: "4096"
//   DEVICE/PORT/max_mtu     what the port could run
//
// Needs /dev/infiniband/uverbsN: a refusal keeps its errno (EACCES, ENOENT in a container without the
// device). Without the library every file below a device is ENOSYS: nobody was there to ask.
#pragma once

#include <chrono>
#include <memory>

#include "host/libraries.hpp"
#include "host/root.hpp"

namespace angio::probe {

// mlx5 gives up on a firmware command after a minute; a node with a dead HCA must not wait for each port.
inline constexpr std::chrono::milliseconds kVerbsPatience{10'000};

// Opens the library at once and a device when first asked of it. Never fails.
std::unique_ptr<host::Root> make_verbs_root(const host::LibraryLoader& loader,
                                            std::chrono::milliseconds patience = kVerbsPatience);

}  // namespace angio::probe
