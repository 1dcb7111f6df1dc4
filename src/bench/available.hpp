// How much memory a measurement may take: what is free on each node, and what the cgroups of this process
// leave. Reads through a Root, so that tests need no cgroup. A buffer beyond it would wake the OOM killer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "host/root.hpp"
#include "model/cpu.hpp"

namespace angio::bench {

struct Available {
  std::map<std::uint32_t, Bytes> on_node;  // by node number; a node without an entry is unknown
  std::optional<Bytes> of_cgroup;  // limit less use, the least of this cgroup and those above; none: no limit
};

Available read_available(const model::Numa& numa, const host::Root& root);

// What can be had on a node without pushing anything else out: free memory and half of the page cache that
// was not used lately. meminfo: text of /sys/devices/system/node/nodeN/meminfo or of /proc/meminfo.
std::optional<Bytes> available_on_node(std::string_view meminfo);

std::optional<Bytes> left_in_cgroups(const host::Root& root);

}  // namespace angio::bench
